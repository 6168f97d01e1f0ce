// Draws one table. Menus and the search box hide rows; the model is read, never written, so filtering changes no
// notebook. Python removes comment lines and indentation before it sends this file (no template over two lines).

let tables = 0; // the module runs once a page, so this makes ids that are unique on it

// Text is always set as text; only `backticks` mean something.
function make(tag, className, text = "") {
  const element = document.createElement(tag);
  if (className) element.className = className;
  text.split("`").forEach((piece, i) => {
    const node = i % 2 ? document.createElement("code") : document.createTextNode(piece);
    if (i % 2) node.textContent = piece;
    element.append(node);
  });
  return element;
}

// Where a link may lead: to a page, or to the notebook of a lesson; on the reading site to the lesson's page.
const ALLOWED = /^(https:\/\/|\d\d_\w+\.(ipynb|html)$)/;

// A lesson opens in a tab of its own: JupyterLab's address ends with the notebook, so a file beside it is found.
function makeLink({ text, to }) {
  const link = make("a", "", text);
  if (ALLOWED.test(to)) Object.assign(link, { href: to, target: "_blank", rel: "noopener" });
  return link;
}

function makeRow({ texts, links }, columns) {
  const row = make("tr");
  texts.forEach((text, k) => {
    const cell = make("td", "", text);
    cell.dataset.column = columns[k]; // shown before the text where the page is narrow
    row.append(cell);
  });
  for (const link of links) row.lastChild.append(" ", makeLink(link), make("span", "", link.after));
  return row;
}

function labelled(name, control) {
  const label = make("label", "table-filter");
  label.append(make("span", "", name), control);
  return label;
}

function makeMenu({ name, options, start }) {
  const menu = make("select");
  menu.append(new Option("all", -1), ...options.map((option, k) => new Option(option, k)));
  menu.value = start;
  return { menu, element: labelled(name, menu) };
}

function render({ model, el }) {
  const [columns, cells] = [model.get("columns"), model.get("cells")];
  el.classList.add("filter-table");

  const menus = model.get("filters").map(makeMenu);
  const search = Object.assign(make("input"), { type: "search" });
  const controls = make("div", "table-filters");
  controls.append(...menus.map(({ element }) => element), labelled("contains", search));

  const status = make("p", "table-status");
  status.setAttribute("role", "status");
  status.id = `table-${++tables}-status`;

  const head = make("tr");
  for (const column of columns) head.append(Object.assign(make("th", "", column), { scope: "col" }));
  const rows = cells.map((cell) => makeRow(cell, columns));
  const [table, top, body] = [make("table"), make("thead"), make("tbody")];
  top.append(head);
  body.append(...rows);
  table.append(make("caption", "", model.get("title")), top, body);
  // Focusable, so that the arrow keys scroll what is longer than its frame.
  const frame = make("div", "table-frame");
  Object.assign(frame, { tabIndex: 0 });
  frame.setAttribute("role", "region");
  frame.setAttribute("aria-label", model.get("title"));
  frame.append(table);
  el.replaceChildren(controls, status, frame);

  function update() {
    const wanted = menus.map(({ menu }) => Number(menu.value));
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, k) => {
      const fits = wanted.every((option, j) => option < 0 || (cells[k].when[j]?.includes(option) ?? true));
      const text = row.textContent.toLowerCase();
      row.hidden = !(fits && words.every((word) => text.includes(word)));
      shown += !row.hidden;
    });
    status.textContent = shown ? `${shown} of ${rows.length} rows` : "No row fits; choose “all” in a menu.";
  }
  controls.addEventListener("input", update);
  update();
}

export default { render };
