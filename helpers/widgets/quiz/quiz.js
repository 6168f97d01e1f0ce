// Draws one quiz, from the parts in question.js. The model is read, never written, so answering changes no notebook.

import "../keys.js";
import { widget } from "../dress.js";
import { make } from "../text.js";
import { ask, clearing } from "./question.js";

// "3 of 7 right, 2 to answer", and the first try apart as soon as an answer was changed.
/** @param {Pick<ReturnType<typeof ask>, "result">[]} asked */
export function scoreOf(asked) {
  const results = asked.map((question) => question.result()).filter((result) => result !== null);
  const first = results.filter((result) => result.first).length;
  const now = results.filter((result) => result.now).length;
  const total = asked.length;
  const changed = results.some((result) => result.first !== result.now);
  const score = changed ? `first try ${first} of ${total}, now ${now} of ${total}` : `${now} of ${total} right`;
  const open = total - results.length;
  return open ? `${score}, ${open} to answer` : score;
}

// What answers a question waits in elements of the class "after-guess" and of one that names the question, as the
// learner's copies and the site make them. When the guess is made, folds open, and lines that ask for it change.
/** @type {Set<string>} */
const guessed = new Set();

function reveal() {
  for (const part of document.querySelectorAll(".after-guess:not([data-revealed])")) {
    if (![...part.classList].some((name) => guessed.has(name))) continue;
    part.setAttribute("data-revealed", "");
    if (part instanceof HTMLDetailsElement) part.open = true;
    else part.textContent = "Run this cell (Shift+Enter).";
  }
}

// JupyterLab draws a cell when it is scrolled to.
/** @param {AbortSignal} signal */
function revealLater(signal) {
  let waiting = 0;
  const observer = new MutationObserver(() => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(reveal);
  });
  observer.observe(document.body, { childList: true, subtree: true });
  signal.addEventListener("abort", () => observer.disconnect());
}

/** @param {View} view */
function render({ model, el }) {
  const lesson = model.get("lesson");
  /** @type {Question[]} */
  const questions = model.get("questions");
  const prediction = model.get("kind") === "prediction";
  const many = questions.length > 1;
  const ending = new AbortController();
  el.classList.add("quiz", prediction ? "quiz-is-prediction" : "quiz-is-check");
  el.append(make("p", "quiz-kind", prediction ? "Your prediction" : "Skill check"));

  const score = Object.assign(make("span", "quiz-score"), { role: "status" });
  const changed = () => {
    if (many) score.textContent = scoreOf(asked);
    if (!prediction || !asked[0].result()) return;
    guessed.add(`after-${lesson}-${questions[0].key}`);
    reveal();
  };
  const shared = { prediction, changed, signal: ending.signal };
  const asked = questions.map((question, i) => ask(lesson, question, { number: many ? i + 1 : undefined, ...shared }));
  el.append(...asked.map(({ element }) => element));
  if (many) {
    const end = make("div", "quiz-end");
    end.append(score, clearing(`${lesson}/`, "Forget every answer of this lesson, predictions too?"));
    el.append(end);
  }
  for (const question of asked) question.start();
  if (prediction) revealLater(ending.signal);
  return () => ending.abort();
}

export default widget(render);
