// Draws the progress in all lessons, and the buttons for all answers: what the practice and the progress have in common.

// The name of a lesson, which leads to it where Python says `to`.
function headOf(lesson) {
  const head = Object.assign(make("th", "", lesson.to ? "" : nameOf(lesson)), { scope: "row" });
  if (lesson.to) head.append(linkTo(lesson.to, nameOf(lesson)));
  return head;
}

// Where a link may lead: to the notebook of a lesson or, on the reading site, its page.
const ALLOWED = /^\d\d_\w+\.(ipynb|html)$/;

// JupyterLab stays open where it is, so a notebook opens in a tab of its own.
function linkTo(to, text) {
  const link = make("a", "", text);
  if (ALLOWED.test(to)) Object.assign(link, { href: to });
  if (to.endsWith(".ipynb")) Object.assign(link, { target: "_blank", rel: "noopener" });
  return link;
}

// A table: for each lesson a bar and the numbers that it shows. `show` fills it in.
function progressOf(lessons, caption) {
  const element = make("div", "practice-overview");
  const table = make("table", "practice-progress");
  table.append(make("caption", "", caption));
  const head = make("tr", "");
  ["lesson", "", "answered", "missed", "due"].forEach((text) => {
    const cell = text ? make("th", `practice-of-${text}`, text) : make("td", "practice-picture");
    head.append(text ? Object.assign(cell, { scope: "col" }) : cell);
  });
  table.append(head);
  element.append(table);
  const rows = lessons.map((lesson) => {
    const row = make("tr", "");
    const bar = Object.assign(make("div", "practice-bar"), { ariaHidden: "true" });
    const parts = ["known", "due", "missed", "new"].map((name) => [name, make("span", `practice-${name}`)]);
    bar.append(...parts.map(([, part]) => part));
    const cells = ["answered", "missed", "due"].map((name) => [name, make("td", "")]);
    const held = make("td", "practice-picture");
    held.append(bar);
    row.append(headOf(lesson), held, ...cells.map(([, cell]) => cell));
    table.append(row);
    return { name: lesson.name, parts, cells };
  });
  const show = (cards, day) => {
    rows.forEach(({ name, parts, cells }) => {
      const counts = countsOf(cards.filter(({ lesson }) => lesson === name), day);
      parts.forEach(([part, element]) => (element.style.flexGrow = counts[part]));
      cells.forEach(([cell, element]) => {
        element.textContent = cell === "answered" ? `${counts.answered} of ${counts.all}` : counts[cell];
        element.classList.toggle("practice-zero", counts[cell] === 0);
      });
    });
  };
  return { element, show };
}

// Buttons that write all answers to a file, take in those of one, and forget them. `taken` is called after such a file.
function filing(cards, taken) {
  const element = make("div", "practice-filing");
  const said = make("p", "practice-said");
  said.setAttribute("role", "status");
  const chosen = Object.assign(make("input", ""), { type: "file", accept: ".json,application/json", hidden: true });
  chosen.addEventListener("change", async () => {
    const [file] = chosen.files;
    chosen.value = "";
    if (!file) return;
    try {
      said.textContent = await takeIn(file, cards);
      taken();
    } catch (error) {
      said.textContent = error.message;
    }
  });
  const files = make("span", "practice-files");
  files.append(makeButton("quiz-clear", "Save my answers", () => (said.textContent = saveFile(cards))));
  files.append(makeButton("quiz-clear", "Load answers", () => chosen.click()), chosen);
  const end = make("div", "quiz-end");
  end.append(files, clearing("", "Forget every answer of every lesson?"));
  element.append(end, said);
  return element;
}

// Each of these two returns what is to be said.
function saveFile(cards) {
  const answers = withAnswers(cards);
  if (!answers.some(({ record }) => record)) return "There is no answer to save yet.";
  const file = new Blob([writeAnswers(answers)], { type: "application/json" });
  const href = URL.createObjectURL(file);
  Object.assign(make("a", ""), { download: `normalization-answers-${today()}.json`, href }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60000);
  return "Saved, as a download of your browser.";
}

async function takeIn(file, cards) {
  if (file.size > LARGEST_FILE) throw problem("This file is too large to hold answers of these lessons");
  const text = await file.text().catch(() => Promise.reject(problem("This file cannot be read")));
  // The answers of this moment: another tab may have written some while the file was read.
  const { kept, older, unknown } = readAnswers(text, withAnswers(cards));
  kept.forEach(([{ place }, record]) => save(place, JSON.stringify(record)));
  const parts = [`${some(kept.length, "answer")} taken in`];
  if (older) parts.push(`${older} left as here, where they are as new or newer`);
  if (unknown) parts.push(`${unknown} left out, of questions that are not here or have changed`);
  return `${parts.join("; ")}.`;
}
