// The answers to all questions, in the browser only. This is the one module that knows how they are stored: quizzes,
// the practice, the progress, the reading site and the slides all import it.
//
// One record as JSON for each question, under normalization-notebooks/<lesson>/<key> in localStorage. A record has at
// least `choice` and `mark`, the fingerprint of what was asked. Each is read again before it is written, so that two tabs
// lose nothing of each other.

export const PLACE = "normalization-notebooks";

/** @param {string} lesson @param {string} key */
export const placeOf = (lesson, key) => `${PLACE}/${lesson}/${key}`;

// What a lesson was called before -> its name. Answers saved under the old name are found under the new one.
/** @type {[string, string][]} */
const RENAMED = [
  ["15_practice", "16_practice"],
  ["16_why_norms_help", "15_why_norms_help"],
];

/** @param {string} place "<lesson>/<key>", perhaps with what comes before @returns {string} */
export const renamed = (place) => RENAMED.reduce((text, [was, is]) => text.replace(`${was}/`, `${is}/`), place);

// Where localStorage is refused (a sandboxed page) answers last until the page is closed.
globalThis.normalizationAnswers ??= new Map();
const memory = globalThis.normalizationAnswers;

// When a question is due again: so many days after an answer put it into a box. A right answer moves it up a box, but
// only on a day on which it is due; a wrong one puts it into box 0. (Leitner's boxes.)
export const DAYS = [1, 3, 7, 14, 30];

/** @param {unknown} text @returns {text is string} */
const isDay = (text) => typeof text === "string" && /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));

/** @param {string} day @param {number} days */
export const later = (day, days) => new Date(Date.parse(day) + days * 86400000).toISOString().slice(0, 10);

export const now = () => new Date().getTime();

/** The day where the learner is, which is not always that of Greenwich. */
export const today = () => new Date(now() - new Date().getTimezoneOffset() * 60000).toISOString().slice(0, 10);

// The box after an answer, and the day on which the question is due. `before` is its record so far.
/** @param {{ box: number, due: string } | null} before @param {boolean} right @param {string} day */
export function boxAfter(before, right, day) {
  if (right && before && before.due > day) return { box: before.box, due: before.due };
  const box = right ? Math.min((before ? before.box : 0) + 1, DAYS.length - 1) : 0;
  return { box, due: later(day, DAYS[box]) };
}

// Once in each browser: move answers saved under a lesson's old name.
try {
  for (const place of Object.keys(localStorage).filter((place) => renamed(place) !== place)) {
    localStorage[renamed(place)] ??= localStorage[place];
    localStorage.removeItem(place);
  }
} catch {
  // refused: nothing was saved
}

/** @param {string} place @returns {string | null} */
export function load(place) {
  if (memory.has(place)) return memory.get(place) ?? null;
  try {
    return localStorage.getItem(place);
  } catch {
    return null;
  }
}

// Store a record, or with null forget it. Every view of a question listens to "storage", which the browser itself sends
// to other tabs: so all agree.
/** @param {string} place @param {string | null} text */
export function save(place, text) {
  memory.delete(place);
  try {
    if (text === null) localStorage.removeItem(place);
    else localStorage.setItem(place, text);
  } catch {
    memory.set(place, text);
  }
  window.dispatchEvent(new StorageEvent("storage", { key: place, newValue: text }));
}

/** @param {string | null} text @returns {any} */
export function read(text) {
  try {
    return JSON.parse(text ?? "null");
  } catch {
    return null;
  }
}

// The saved answer, or null if there is none, it cannot be read, or the question has changed since.
/** @param {string | null} text @param {Asked} question */
export const parse = (text, question) => complete(read(text), question);

// Whether the text is an answer to this question as it was before it changed.
/** @param {string | null} text @param {Asked} question */
export function hasChanged(text, question) {
  const mark = read(text)?.mark;
  return typeof mark === "string" && mark !== question.mark;
}

// The record with all its entries and no others; null if it does not fit the question. What it lacks, or what cannot be
// (a day to come, a question put off for years), is made from the rest.
/** @param {any} record @param {Asked} question @returns {Answer | null} */
export function complete(record, question) {
  /** @param {any} choice */
  const isOption = (choice) => Number.isInteger(choice) && choice >= 0 && choice < question.options.length;
  if (record?.mark !== question.mark || !isOption(record.choice)) return null;
  const { choice, mark } = record;
  const right = choice === question.right;
  const first = isOption(record.first) ? record.first : choice;
  const tries = Number.isInteger(record.tries) && record.tries > 0 ? record.tries : 1;
  const when = isDay(record.when) && record.when < today() ? record.when : today();
  const { box, due } = record;
  const isBox = Number.isInteger(box) && box in DAYS;
  const placed = isBox && isDay(due) && due <= later(today(), DAYS[box]) ? { box, due } : boxAfter(null, right, when);
  /** @param {any} time @param {number} last */
  const isTime = (time, last) => Number.isInteger(time) && time > 0 && time <= last;
  const at = isTime(record.at, now()) ? record.at : Math.min(Date.parse(when), now());
  const began = isTime(record.began, at) ? record.began : at;
  return { choice, right, when, at, began, tries, first, mark, ...placed };
}

// Save a choice. The first choice stays in the record, whatever is chosen later. `began` and `at` are the milliseconds
// of the first answer and of this one.
/** @param {string} place @param {Asked} question @param {number} choice */
export function answer(place, question, choice) {
  const before = parse(load(place), question);
  const { first, tries, began } = before ?? { first: choice, tries: 0, began: now() };
  const [when, right] = [today(), choice === question.right];
  const kept = { choice, right, when, at: now(), began, tries: tries + 1, first, mark: question.mark };
  save(place, JSON.stringify({ ...kept, ...boxAfter(before, right, when) }));
}

// Call `take` with the record's text when it changes here or in another tab, and after the browser had put the page
// aside, when it has heard nothing.
/** @param {string} place @param {(text: string | null) => void} take @param {AbortSignal} [signal] */
export function followAnswer(place, take, signal) {
  const again = () => take(load(place));
  // Without a key a whole storage was cleared.
  window.addEventListener("storage", ({ key }) => (key ?? place) === place && again(), { signal });
  window.addEventListener("pageshow", ({ persisted }) => persisted && again(), { signal });
}

// Forget the answers of one lesson, "<lesson>/", or with "" all of them.
/** @param {string} where */
export function forget(where) {
  const places = [...memory.keys()];
  try {
    places.push(...Object.keys(localStorage));
  } catch {
    // refused: all there is, is in memory
  }
  for (const place of places) if (place.startsWith(`${PLACE}/${where}`)) save(place, null);
}
