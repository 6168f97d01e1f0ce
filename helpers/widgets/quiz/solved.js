// Keeps that an exercise has passed, as the answer to its question, and says when it comes back. Later passes count when
// Practice asks for it: running all cells of a lesson again is not writing it from memory.

import { answer, load, parse, placeOf, today } from "../answers.js";
import { widget } from "../dress.js";
import { make } from "../text.js";
import { returnOf } from "./lessons.js";

/** @param {View} view */
function render({ model, el }) {
  const question = model.get("question");
  if (!question.key) return;
  const place = placeOf(model.get("lesson"), question.key);
  const before = parse(load(place), question);
  const isAsked = globalThis.normalizationAsked === place;
  if (!before || (isAsked && before.at < model.get("at"))) answer(place, question, question.right);
  const record = parse(load(place), question);
  el.classList.add("quiz");
  if (record) el.append(make("p", "practice-again", `Solved. ${returnOf(record, today(), 0)}`));
}

export default widget(render);
