// What the answers say of whole lessons: what was answered, missed, is due; and the file that carries them elsewhere.
// The practice, the progress and the reading site have this in common. Nothing here touches the page.

import { complete, hasChanged, load, PLACE, parse, placeOf, read, renamed, today } from "../answers.js";

const FORMAT = "normalization-notebooks answers";
const VERSION = 1;
export const LARGEST_FILE = 2000000;

// Every question is a card; `lessons` is what Python sends.
/** @param {Lesson[]} lessons @returns {Card[]} */
export const cardsOf = (lessons) =>
  lessons.flatMap(({ name, title, questions }) =>
    questions.map((question) => ({ lesson: name, title, question, place: placeOf(name, question.key) })),
  );

/** @param {Card[]} cards @returns {AnsweredCard[]} */
export const withAnswers = (cards) =>
  cards.map((card) => {
    const text = load(card.place);
    return { ...card, record: parse(text, card.question), changed: hasChanged(text, card.question) };
  });

// "new" without an answer, "missed" if the last one was wrong, "due" from a day on, "known" until then.
/** @param {Answer | null} record @param {string} day */
export function standing(record, day) {
  if (!record) return "new";
  if (!record.right) return "missed";
  return record.due <= day ? "due" : "known";
}

/** @param {AnsweredCard[]} cards @param {string} day */
export function countsOf(cards, day) {
  const counts = { all: cards.length, known: 0, due: 0, missed: 0, new: 0 };
  for (const { record } of cards) counts[standing(record, day)] += 1;
  return { ...counts, answered: counts.all - counts.new };
}

// "4 of 13 answered, 1 missed, 2 due"
/** @param {ReturnType<typeof countsOf>} counts */
export function inWords({ all, answered, missed, due }) {
  const parts = [`${answered} of ${all} answered`];
  if (missed) parts.push(`${missed} missed`);
  if (due) parts.push(`${due} due`);
  return parts.join(", ");
}

// A question that was just asked comes back after so many others at the earliest, if there are others.
export const BETWEEN = 3;

// "3 questions", "1 question"
/** @param {number} count @param {string} word */
export const some = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

// When a question that was just answered is asked again, in words. `others` is how many more there are to ask.
/** @param {Answer} record @param {string} day @param {number} others */
export function returnOf(record, day, others) {
  const after = some(Math.min(BETWEEN, others), "other question");
  if (!record.right) return `It comes back ${others ? `today, after ${after} or more` : "next"}.`;
  const days = (Date.parse(record.due) - Date.parse(day)) / 86400000;
  if (days <= 0) return "It comes back now, in Practice.";
  return `It comes back ${days === 1 ? "tomorrow" : `in ${days} days`}, on ${record.due}.`;
}

/** @param {{ name: string, title: string }} lesson */
export const nameOf = ({ name, title }) => `${name.slice(0, 2)} ${title}`;

// Call `show` at once and, after all changes of a turn, again: those made here, in another tab, and while the page was
// out of sight, when a day may have passed, too.
/** @param {() => void} show @param {AbortSignal} [signal] */
export function follow(show, signal) {
  let waiting = false;
  const again = () => {
    waiting = false;
    if (!signal?.aborted) show();
  };
  const soon = () => {
    if (!waiting) queueMicrotask(again);
    waiting = true;
  };
  window.addEventListener("storage", soon, { signal });
  window.addEventListener("pageshow", soon, { signal });
  document.addEventListener("visibilitychange", soon, { signal });
  show();
}

/** What is written under "Your notes" of a lesson's page, as JSON of the text. No question has a key with a space. */
export const NOTES = "your notes";

/** @param {Card[]} cards */
const namesOfNotes = (cards) => new Set(cards.map(({ lesson }) => `${lesson}/${NOTES}`));

// All answers and notes as the text of a file, or null if there are none.
/** @param {AnsweredCard[]} cards */
export function writeAnswers(cards) {
  const answers = cards.map(({ lesson, question, record }) => [`${lesson}/${question.key}`, record]);
  for (const name of namesOfNotes(cards)) answers.push([name, read(load(`${PLACE}/${name}`))]);
  const given = answers.filter(([, answer]) => answer);
  if (!given.length) return null;
  const file = { format: `${FORMAT} ${VERSION}`, saved: today(), answers: Object.fromEntries(given) };
  return JSON.stringify(file, null, 1);
}

/** @param {string} why */
export const problem = (why) => new Error(`${why}: choose a file that was saved here with "Save my answers".`);

// The records of such a text that are to be kept, as [card, record], and how many are not: `older` than what is here or
// the same, or `unknown`, of no question here or of one that has changed. A note is kept where there is none, else it
// counts as `notes`. Throws an Error whose message says what is wrong.
/** @param {string} text @param {AnsweredCard[]} cards */
export function readAnswers(text, cards) {
  const file = read(text);
  const [, version] = String(file?.format).match(`^${FORMAT} (\\d+)$`) ?? [];
  const answers = version && file.answers;
  if (!answers || typeof answers !== "object" || Array.isArray(answers)) {
    throw problem("This file holds no answers of these lessons");
  }
  if (Number(version) > VERSION) throw problem("This file was saved by a newer version of these lessons");
  const byName = new Map(cards.map((card) => [`${card.lesson}/${card.question.key}`, card]));
  /** @type {{ kept: [{ place: string }, Answer | string][], older: number, unknown: number, notes: number }} */
  const found = { kept: [], older: 0, unknown: 0, notes: 0 };
  for (const [name, answer] of Object.entries(answers)) {
    const place = `${PLACE}/${renamed(name)}`;
    if (typeof answer === "string" && namesOfNotes(cards).has(renamed(name))) {
      if (!load(place)) found.kept.push([{ place }, answer]);
      else if (read(load(place)) !== answer) found.notes += 1;
      continue;
    }
    const card = byName.get(renamed(name));
    const record = card ? complete(answer, card.question) : null;
    const merged = card && record && merge(card.record, record);
    if (!merged) found.unknown += 1;
    else if (merged === card.record) found.older += 1;
    else found.kept.push([card, merged]);
  }
  return found;
}

// Two records of a question as one: the answer that came later, the first try of the one that was begun earlier. Where
// that changes nothing, it is `mine` itself.
/** @param {Answer | null} mine @param {Answer} theirs @returns {Answer} */
export function merge(mine, theirs) {
  if (!mine) return theirs;
  const isLater = theirs.at > mine.at || (theirs.at === mine.at && theirs.tries > mine.tries);
  const { first, began } = theirs.began < mine.began ? theirs : mine;
  const tries = Math.max(mine.tries, theirs.tries);
  const same = !isLater && began === mine.began && tries === mine.tries;
  return same ? mine : { ...(isLater ? theirs : mine), first, began, tries };
}
