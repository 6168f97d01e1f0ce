// Draws the progress in all lessons, and the buttons for all answers: what the practice and the progress have in common.

import { save, today } from "../answers.js";
import { linkTo, make, makeButton } from "../text.js";
import { countsOf, LARGEST_FILE, nameOf, problem, readAnswers, some, withAnswers, writeAnswers } from "./lessons.js";
import { clearing } from "./question.js";

const PARTS = /** @type {const} */ (["known", "due", "missed", "new"]);
const CELLS = /** @type {const} */ (["answered", "missed", "due"]);

// A table: for each lesson its name, which leads to it where Python says `to`, a bar and the numbers that the bar shows.
// `show` fills it in.
/** @param {Lesson[]} lessons @param {string} caption */
export function progressOf(lessons, caption) {
  const element = make("div", "practice-overview");
  const table = make("table", "practice-progress");
  table.append(make("caption", "", caption));
  const head = make("tr");
  head.append(make("th", "", "lesson"), make("td", "practice-picture"));
  head.append(...CELLS.map((name) => make("th", `practice-of-${name}`, name)));
  for (const cell of head.querySelectorAll("th")) cell.scope = "col";
  table.append(head);
  element.append(table);
  const rows = lessons.map((lesson) => {
    const row = make("tr");
    const name = Object.assign(make("th"), { scope: "row" });
    name.append(lesson.to ? linkTo(lesson.to, nameOf(lesson)) : nameOf(lesson));
    const bar = Object.assign(make("div", "practice-bar"), { ariaHidden: "true" });
    const parts = PARTS.map((part) => make("span", `practice-${part}`));
    bar.append(...parts);
    const picture = make("td", "practice-picture");
    picture.append(bar);
    const cells = CELLS.map(() => make("td"));
    row.append(name, picture, ...cells);
    table.append(row);
    return { lesson, parts, cells };
  });
  /** @param {AnsweredCard[]} cards @param {string} day */
  const show = (cards, day) => {
    for (const { lesson, parts, cells } of rows) {
      const mine = cards.filter((card) => card.lesson === lesson.name);
      const counts = countsOf(mine, day);
      for (const [k, part] of parts.entries()) part.style.flexGrow = String(counts[PARTS[k]]);
      CELLS.forEach((name, k) => {
        cells[k].textContent = name === "answered" ? `${counts.answered} of ${counts.all}` : String(counts[name]);
        cells[k].classList.toggle("practice-zero", counts[name] === 0);
      });
    }
  };
  return { element, show };
}

// Buttons that write all answers to a file, take in those of one, and forget them. `taken` is called after such a file.
/** @param {Card[]} cards @param {() => void} [taken] */
export function filing(cards, taken) {
  const element = make("div", "practice-filing");
  const said = Object.assign(make("p", "practice-said"), { role: "status" });
  const chosen = Object.assign(make("input"), { type: "file", accept: ".json,application/json", hidden: true });
  chosen.addEventListener("change", async () => {
    const [file] = chosen.files ?? [];
    chosen.value = "";
    if (!file) return;
    try {
      said.textContent = await takeIn(file, cards);
      taken?.();
    } catch (error) {
      said.textContent = error instanceof Error ? error.message : String(error);
    }
  });
  const saving = makeButton("quiz-clear", "Save my answers", () => said.replaceChildren(saveFile(cards)));
  const loading = makeButton("quiz-clear", "Load answers", () => chosen.click());
  const files = make("span", "practice-files");
  files.append(saving, loading, chosen);
  const end = make("div", "quiz-end");
  end.append(files, clearing("", "Forget every answer of every lesson?"));
  element.append(end, said);
  return element;
}

// Each of these two returns what is to be said.

/** @param {Card[]} cards */
function saveFile(cards) {
  const answers = writeAnswers(withAnswers(cards));
  if (!answers) return "There is no answer to save yet.";
  const file = new Blob([answers], { type: "application/json" });
  const href = URL.createObjectURL(file);
  Object.assign(make("a"), { download: `normalization-answers-${today()}.json`, href }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60000);
  return "Saved to your browser's downloads.";
}

/** @param {File} file @param {Card[]} cards */
async function takeIn(file, cards) {
  if (file.size > LARGEST_FILE) throw problem("This file is too large to hold answers of these lessons");
  const text = await file.text().catch(() => Promise.reject(problem("This file cannot be read")));
  // The answers of this moment: another tab may have written some while the file was read.
  const { kept, older, unknown, notes } = readAnswers(text, withAnswers(cards));
  for (const [{ place }, record] of kept) save(place, JSON.stringify(record));
  const parts = [`${some(kept.length, "answer")} loaded`];
  if (notes) parts.push(`${some(notes, "note")} left out, because you have written another here`);
  if (older) parts.push(`${older} left out, because yours here are as new or newer`);
  if (unknown) parts.push(`${unknown} left out, because their questions are not here or have changed`);
  return `${parts.join("; ")}.`;
}
