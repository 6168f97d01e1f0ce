// Draws one question and keeps its answer: what the quizzes and the practice have in common.

import { answer, followAnswer, forget, hasChanged, load, parse, placeOf } from "../answers.js";
import { make, makeButton } from "../text.js";

const CHANGED = "This question has changed since you answered it, so that answer is gone. Answer it again.";

// One question. `changed` is called whenever its checked answer changes. An answer that is kept is shown, unless the
// question is to be asked `fresh`, without a stored answer. `result()` says whether first and present answer are right.
/** @typedef {{ number?: number, prediction?: boolean, changed(): void, signal: AbortSignal, fresh?: boolean }} Asking */
/** @param {string} lesson @param {Question} question @param {Asking} options */
export function ask(lesson, question, { number, prediction, changed, signal, fresh }) {
  const place = placeOf(lesson, question.key);
  const name = `quiz-${Math.random().toString(36).slice(2)}`;
  /** @type {Answer | null} */
  let record = null;
  let outdated = false;

  const element = make("fieldset", "quiz-question");
  element.append(make("legend", "quiz-prompt", (number ? `${number}. ` : "") + question.prompt));
  if (question.code) element.append(Object.assign(make("pre", "quiz-code"), { textContent: question.code }));

  const rows = question.options.map((text, i) => {
    const row = make("label", "quiz-option");
    const radio = make("input");
    Object.assign(radio, { type: "radio", name, value: i });
    radio.addEventListener("change", show);
    row.append(radio, make("span", "quiz-letter", "ABCDE"[i]), make("span", "quiz-text", text));
    element.append(row);
    return { row, radio, first: make("span", "quiz-first", prediction ? "your guess" : "first try") };
  });
  const chosen = () => rows.findIndex(({ radio }) => radio.checked);

  const foot = make("div", "quiz-foot");
  const button = makeButton("quiz-check", prediction ? "Commit to this guess" : "Check", check);
  const feedback = Object.assign(make("div", "quiz-feedback"), { role: "status" });
  foot.append(button, feedback);
  element.append(foot);

  // The feedback belongs to the checked choice: it goes when another is picked and returns with it.
  function show() {
    const choice = chosen();
    button.disabled = choice < 0;
    const checked = record !== null && record.choice === choice;
    button.classList.toggle("quiz-done", checked);
    const marked = record && (prediction || record.first !== record.choice) ? record.first : -1;
    rows.forEach(({ row, first }, i) => {
      delete row.dataset.result;
      if (marked === i) row.append(first);
      else first.remove();
    });
    feedback.replaceChildren();
    if (outdated) feedback.append(make("span", "quiz-changed", CHANGED));
    if (!checked) return;
    const right = choice === question.right;
    rows[choice].row.dataset.result = right ? "right" : "wrong";
    const verdict = make("strong", right ? "quiz-right" : "quiz-wrong", right ? "Right." : "Not quite.");
    feedback.append(verdict, make("span", "", ` ${question.whys[choice]}`));
  }

  /** @param {string | null} text */
  function take(text) {
    record = parse(text, question);
    outdated = hasChanged(text, question);
    for (const [i, { radio }] of rows.entries()) radio.checked = record?.choice === i;
    show();
    changed();
  }

  function check() {
    if (chosen() < 0) return;
    fresh = false;
    answer(place, question, chosen());
  }

  // Together with another key, Enter runs the cell. By itself it must not go on to what has the focus afterwards.
  element.addEventListener("keydown", (event) => {
    const onRadio = event.target instanceof HTMLInputElement;
    if (event.key !== "Enter" || !onRadio || event.shiftKey || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    check();
  });
  followAnswer(place, (text) => !fresh && take(text), signal);

  return {
    element,
    start: () => take(fresh ? null : load(place)),
    result: () => record && { first: record.first === question.right, now: record.choice === question.right },
  };
}

// A button that asks before it forgets the answers of a lesson, "<lesson>/", or of all, "".
/** @param {string} where @param {string} words */
export function clearing(where, words) {
  const element = make("span", "quiz-clearing");
  /** @param {boolean} asking */
  const turn = (asking) => {
    element.replaceChildren(...(asking ? [question, yes, no] : [clear]));
    (asking ? no : clear).focus();
  };
  const clear = makeButton("quiz-clear", "Clear my answers", () => turn(true));
  const question = Object.assign(make("span", "", words), { role: "status" });
  const yes = makeButton("quiz-clear", "Forget them", () => {
    forget(where);
    turn(false);
  });
  const no = makeButton("quiz-clear", "Keep them", () => turn(false));
  element.append(clear);
  return element;
}
