// Draws the practice: one question at a time out of all lessons, from the parts in question.js. What is asked follows
// from the answers that the browser keeps, so no kernel is needed. The model is read, never written.

import "../keys.js";
import { load, parse, today } from "../answers.js";
import { widget } from "../dress.js";
import { linkTo, make, makeButton } from "../text.js";
import { BETWEEN, cardsOf, countsOf, follow, nameOf, returnOf, some, standing, withAnswers } from "./lessons.js";
import { filing, progressOf } from "./overview.js";
import { ask } from "./question.js";

// The cards to ask, in order: missed, due, new; what waits longest first, exercises after the questions. A prediction is
// first met in its lesson, before the cell that answers it, and an exercise is first solved there, so neither is ever new
// here. The skill check of a lesson is new when half of its predictions are made: some stand in optional parts.
/** @param {AnsweredCard[]} cards @param {string} day */
export function toAsk(cards, day) {
  /** @param {string} name */
  const are = (name) => cards.filter(({ record }) => standing(record, day) === name);
  /** @param {AnsweredCard} a @param {AnsweredCard} b */
  const longest = (a, b) => (a.record?.due ?? "").localeCompare(b.record?.due ?? "");
  const begun = begunOf(cards);
  /** @param {string} lesson */
  const isMostlyDone = (lesson) => {
    const guesses = cards.filter((card) => card.lesson === lesson && card.question.kind === "prediction");
    return 2 * guesses.filter(({ record }) => record).length >= guesses.length;
  };
  const fresh = are("new").filter(({ lesson, question }) => {
    return question.kind === "check" && begun.has(lesson) && isMostlyDone(lesson);
  });
  const back = [...are("missed").sort(longest), ...are("due").sort(longest)];
  /** @param {AnsweredCard} card */
  const isExercise = ({ question }) => question.kind === "exercise";
  return [...back.filter((card) => !isExercise(card)), ...back.filter(isExercise), ...fresh];
}

// The lessons with an answer.
/** @param {AnsweredCard[]} cards */
export const begunOf = (cards) => new Set(cards.filter(({ record }) => record).map(({ lesson }) => lesson));

// What there is to do, and how long it takes: half a minute a question, five an exercise.
/** @param {AnsweredCard[]} cards @param {string} day */
export function todayInWords(cards, day) {
  const queue = toAsk(cards, day);
  if (!queue.length) return "Today: nothing to do.";
  const { missed, due } = countsOf(cards, day);
  const exercises = queue.filter(({ question }) => question.kind === "exercise").length;
  const minutes = Math.ceil((queue.length - exercises) / 2 + 5 * exercises);
  return `Today: ${missed} missed, ${due} due, ${queue.length - missed - due} new; about ${some(minutes, "minute")}.`;
}

// The first card that was not asked yet today, then the first that is not among the last ones asked.
/** @param {AnsweredCard[]} cards @param {string[]} asked */
export const pick = (cards, asked) =>
  cards.find(({ place }) => !asked.includes(place)) ??
  cards.find(({ place }) => !asked.slice(-BETWEEN).includes(place)) ??
  cards[0];

// What is said where nothing is to be asked.
/** @param {AnsweredCard[]} cards @param {string} day */
export function doneFor(cards, day) {
  const days = cards.flatMap(({ record }) => (record && standing(record, day) === "known" ? record.due : [])).sort();
  const begun = begunOf(cards);
  if (!begun.size) return "There is nothing to ask yet. What you guess and solve in a lesson comes back here later.";
  const waiting = cards.some(({ lesson, record }) => !record && begun.has(lesson));
  const guess = waiting ? " More predictions, exercises and skill checks are in their lessons." : "";
  if (!days.length) return `There is nothing to ask yet.${guess}`;
  const then = days.filter((due) => due === days[0]).length;
  const next = then === 1 ? "question" : `${then} questions`;
  return `There is nothing to ask today. The next ${next} will be due on ${days[0]}.${guess}`;
}

// Why a card is asked, in words.
/** @param {AnsweredCard} card @param {string} day */
export function reasonFor(card, day) {
  if (card.changed) return "changed since you answered it";
  const reasons = { new: "not asked yet", missed: "missed last time", due: "due again", known: "known" };
  return reasons[standing(card.record, day)];
}

// The numbers 0 to count − 1 in an order by chance: each draws a number, the smallest comes first.
/** @param {number} count */
export function shuffled(count) {
  const drawn = Array.from({ length: count }, Math.random);
  return [...drawn.keys()].sort((a, b) => drawn[a] - drawn[b]);
}

// Let the options stand in another order each time, lettered from the top, so that a letter is of no use to remember.
// Each keeps its number, and that is what is saved.
/** @param {HTMLElement} question */
function shuffle(question) {
  const [rows, letters] = [".quiz-option", ".quiz-letter"].map((name) => [...question.querySelectorAll(name)]);
  shuffled(rows.length).forEach((option, position) => {
    letters[option].textContent = "ABCDE"[position];
    question.querySelector(".quiz-foot")?.before(rows[option]);
  });
}

// The lesson of a card as a link, and the notes that were written there: on its page where this is a page, or else in its
// notebook.
const isPage = () => location.pathname.endsWith(".html");
/** @param {Card} card */
const linkOf = ({ lesson, title }) =>
  linkTo(`${lesson}.${isPage() ? "html" : "ipynb"}`, nameOf({ name: lesson, title }));
/** @param {Card} card */
const notesOf = ({ lesson }) => linkTo(`${lesson}.${isPage() ? "html#your-notes" : "ipynb#Your-notes"}`, "your notes");

/** @param {View} view */
function render({ model, el }) {
  /** @type {Lesson[]} */
  const lessons = model.get("lessons");
  const cards = cardsOf(lessons);
  /** @type {string[]} */
  const asked = [];
  const ending = new AbortController();
  let asking = new AbortController();

  el.classList.add("quiz", "quiz-is-check", "practice");
  const menu = make("select");
  menu.append(new Option("lessons I have started", "begun"), new Option("all lessons", ""));
  menu.append(...lessons.map((lesson) => new Option(nameOf(lesson), lesson.name)));
  menu.addEventListener("change", () => turn());
  const from = make("label", "practice-from", "Questions from ");
  from.append(menu);
  const waiting = make("span", "quiz-score");
  const top = make("div", "quiz-end");
  top.append(from, waiting);
  const source = make("p", "practice-source");
  const place = make("div", "practice-question");
  const again = Object.assign(make("p", "practice-again"), { role: "status" });
  const next = makeButton("practice-next quiz-clear", "Next question", () => turn(true));
  const { element, show } = progressOf(lessons, "Your progress");
  const filed = filing(cards, () => turn());
  el.append(make("p", "quiz-kind", "Practice"), top, source, place, again, next, element, filed);

  function chosen() {
    const answered = withAnswers(cards);
    const begun = begunOf(answered);
    return answered.filter(({ lesson }) =>
      menu.value === "begun" ? begun.has(lesson) : lesson.startsWith(menu.value),
    );
  }

  function count() {
    waiting.textContent = todayInWords(chosen(), today());
    show(withAnswers(cards), today());
  }

  // Ask the next question. The one on the page is left as it is, answered or not.
  function turn(byLearner = false) {
    asking.abort();
    asking = new AbortController();
    const queue = toAsk(chosen(), today());
    next.hidden = !queue.length;
    again.textContent = "";
    place.replaceChildren();
    source.textContent = doneFor(chosen(), today());
    if (!queue.length) return;
    const card = pick(queue, asked);
    asked.push(card.place);
    const kind = card.question.kind;
    globalThis.normalizationAsked = kind === "exercise" ? card.place : undefined; // a pass counts: solved.js
    const what = kind === "check" ? "" : `${kind === "exercise" ? "an" : "a"} ${kind}, `;
    source.replaceChildren(linkOf(card), `: ${what}${reasonFor(card, today())}; `, notesOf(card));
    // To go on from a right answer, Enter is enough.
    const changed = () => {
      const record = question.result() && parse(load(card.place), card.question);
      const others = toAsk(chosen(), today()).filter((one) => one.place !== card.place);
      again.textContent = record ? returnOf(record, today(), others.length) : "";
      if (question.result()?.now && place.contains(document.activeElement)) next.focus();
    };
    const question = ask(card.lesson, card.question, { changed, signal: asking.signal, fresh: true });
    if (kind !== "exercise") shuffle(question.element);
    place.replaceChildren(question.element);
    question.start();
    if (byLearner) place.querySelector("input")?.focus();
  }

  follow(count, ending.signal);
  turn();
  return () => {
    asking.abort();
    ending.abort();
  };
}

export default widget(render);
