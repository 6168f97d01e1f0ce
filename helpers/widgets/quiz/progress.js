// Draws the progress: for each lesson what was answered, missed and is due, from the answers that the browser keeps. No
// kernel is needed. The model is read, never written.

import "../keys.js";
import { today } from "../answers.js";
import { widget } from "../dress.js";
import { linkTo, make } from "../text.js";
import { cardsOf, countsOf, follow, inWords, some, withAnswers } from "./lessons.js";
import { filing, progressOf } from "./overview.js";

/** @param {View} view */
function render({ model, el }) {
  const cards = cardsOf(model.get("lessons"));
  const ending = new AbortController();
  el.classList.add("quiz", "quiz-is-check", "practice");
  const all = make("p", "practice-all");
  const { element, show } = progressOf(model.get("lessons"), "In each lesson");
  el.append(make("p", "quiz-kind", "Your progress"), all, element, filing(cards));

  follow(() => {
    const [answers, day] = [withAnswers(cards), today()];
    const counts = countsOf(answers, day);
    const practice = linkTo(model.get("practice"), "Practice");
    const changed = answers.filter((card) => card.changed).length;
    all.textContent = counts.answered ? `${inWords(counts)}.` : "Nothing is answered yet in this browser.";
    if (counts.missed + counts.due) all.append(" ", practice, " asks what was missed or is due.");
    if (changed)
      all.append(` ${some(changed, "question")} changed since you answered, so your answer no longer counts.`);
    show(answers, day);
  }, ending.signal);
  return () => ending.abort();
}

export default widget(render);
