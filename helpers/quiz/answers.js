// The answers to all questions, in the browser only: what the quizzes, the practice, the progress and the reading site
// have in common. Python removes comment lines and indentation before it sends this file (no template over two lines).

// The answers: one record as JSON for each question, under normalization-notebooks/<lesson>/<key> in localStorage.
// A record has at least `choice` and `mark`, the fingerprint of what was asked. Each is read again before it is written,
// so that two tabs lose nothing of each other.
const PLACE = "normalization-notebooks";
// Where localStorage is refused (a sandboxed page) answers last until the page is closed.
const memory = (globalThis.normalizationAnswers ??= new Map());

// When a question is due again: so many days after an answer put it into a box. A right answer moves it up a box, but
// only on a day on which it is due; a wrong one puts it into box 0. (Leitner's boxes. Days are written "2026-11-22".)
const DAYS = [1, 3, 7, 14, 30];

const isDay = (text) => typeof text === "string" && /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));
const later = (day, days) => new Date(Date.parse(day) + days * 86400000).toISOString().slice(0, 10);

const now = () => new Date().getTime();

// The day where the learner is, which is not always that of Greenwich.
const today = () => new Date(now() - new Date().getTimezoneOffset() * 60000).toISOString().slice(0, 10);

// The box after an answer, and the day on which the question is due. `before` is its record so far, or null.
function boxAfter(before, right, day) {
  if (right && before && before.due > day) return { box: before.box, due: before.due };
  const box = right ? Math.min((before ? before.box : 0) + 1, DAYS.length - 1) : 0;
  return { box, due: later(day, DAYS[box]) };
}

function load(place) {
  if (memory.has(place)) return memory.get(place);
  try {
    return localStorage.getItem(place);
  } catch {
    return null;
  }
}

// Every view of a question listens to "storage", which the browser itself sends to other tabs: so all agree.
function save(place, text) {
  memory.delete(place);
  try {
    if (text === null) localStorage.removeItem(place);
    else localStorage.setItem(place, text);
  } catch {
    memory.set(place, text);
  }
  window.dispatchEvent(new StorageEvent("storage", { key: place, newValue: text }));
}

// The saved answer, or null if there is none, it cannot be read, or the question has changed since.
function parse(text, question) {
  try {
    return complete(JSON.parse(text), question);
  } catch {
    return null;
  }
}

// The record with all its entries and no others; null if it does not fit the question. What it lacks, or what cannot
// be (a day to come, a question put off for years), is made from the rest.
function complete(record, question) {
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
  const isTime = (time, last) => Number.isInteger(time) && time > 0 && time <= last;
  const at = isTime(record.at, now()) ? record.at : Math.min(Date.parse(when), now());
  const began = isTime(record.began, at) ? record.began : at;
  return { choice, right, when, at, began, tries, first, mark, ...placed };
}

// The first choice stays in the record, whatever is chosen later. `began` and `at` are the milliseconds of the first
// answer and of this one.
function answer(place, question, choice) {
  const before = parse(load(place), question);
  const { first, tries, began } = before ?? { first: choice, tries: 0, began: now() };
  const [when, right] = [today(), choice === question.right];
  const kept = { choice, right, when, at: now(), began, tries: tries + 1, first, mark: question.mark };
  save(place, JSON.stringify({ ...kept, ...boxAfter(before, right, when) }));
}

// `where` is "<lesson>/" or, for all lessons, "".
function forget(where) {
  const places = [...memory.keys()];
  try {
    places.push(...Object.keys(localStorage));
  } catch {
    // refused: all there is, is in memory
  }
  places.filter((place) => place.startsWith(`${PLACE}/${where}`)).forEach((place) => save(place, null));
}
