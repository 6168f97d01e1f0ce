// Draws one table. Menus and the search box hide rows; the model is never written, so filtering changes no notebook.

import "../keys.js";
import { widget } from "../dress.js";
import { linkTo, make } from "../text.js";

/**
 * @typedef {{ texts: string[], links: { text: string, to: string, after: string }[], when: (number[] | null)[] }} Cell
 * @typedef {{ name: string, options: string[], start: string | null }} Filter
 */

/** @param {Cell} cell @param {string[]} columns */
function makeRow({ texts, links }, columns) {
  const row = make("tr");
  texts.forEach((text, k) => {
    const cell = make("td", "", text);
    cell.dataset.column = columns[k]; // shown before the text where the page is narrow
    row.append(cell);
  });
  for (const { text, to, after } of links) {
    row.cells[row.cells.length - 1].append(" ", linkTo(to, text, true), make("span", "", after));
  }
  return row;
}

/** @param {string} name @param {HTMLElement} control */
function labelled(name, control) {
  const label = make("label", "table-filter");
  label.append(make("span", "", name), control);
  return label;
}

/** @param {View} view */
function render({ model, el }) {
  /** @type {{ title: string, columns: string[], filters: Filter[], cells: Cell[] }} */
  const { title, columns, filters, cells } = model.get("table");
  const controls = make("div", "table-filters");
  const menus = filters.map(({ name, options, start }) => {
    const menu = make("select");
    menu.append(new Option("all", "-1"), ...options.map((option, k) => new Option(option, String(k))));
    menu.value = String(options.indexOf(start ?? ""));
    controls.append(labelled(name, menu));
    return menu;
  });
  const search = Object.assign(make("input"), { type: "search" });
  controls.append(labelled("contains", search));
  const status = Object.assign(make("p", "table-status"), { role: "status" });

  const table = make("table");
  table.append(make("caption", "", title));
  const head = table.createTHead().insertRow();
  head.append(...columns.map((column) => Object.assign(make("th", "", column), { scope: "col" })));
  const rows = cells.map((cell) => makeRow(cell, columns));
  table.createTBody().append(...rows);
  // Focusable, so that the arrow keys scroll what is longer than its frame.
  const frame = Object.assign(make("div", "table-frame"), { tabIndex: 0, role: "region", ariaLabel: title });
  frame.append(table);
  el.classList.add("filter-table");
  el.replaceChildren(controls, status, frame);

  function update() {
    const wanted = menus.map((menu) => Number(menu.value));
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    rows.forEach((row, k) => {
      const fits = wanted.every((option, j) => option < 0 || (cells[k].when[j]?.includes(option) ?? true));
      const text = row.textContent?.toLowerCase() ?? "";
      row.hidden = !(fits && words.every((word) => text.includes(word)));
    });
    const shown = rows.filter((row) => !row.hidden).length;
    status.textContent = shown ? `${shown} of ${rows.length} rows` : "No row fits; choose “all” in a menu.";
  }
  controls.addEventListener("input", update);
  update();
}

export default widget(render);
