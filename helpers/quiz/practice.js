// Draws the practice: one question at a time out of all lessons, from the parts in question.js. What is asked follows
// from the answers that the browser keeps, so no kernel is needed. The model is read, never written.

// A question that was just asked comes back after so many others at the earliest, if there are others.
const BETWEEN = 3;

// The cards to ask, in order: missed, due, new; what waits longest first. New ones of a lesson that is begun come
// before those of other lessons. A prediction is first met in its lesson, before the cell that answers it, so none is
// ever new here.
function toAsk(cards, day) {
  const are = (name) => cards.filter(({ record }) => standing(record, day) === name);
  const longest = (a, b) => a.record.due.localeCompare(b.record.due);
  const begun = new Set(cards.filter(({ record }) => record).map(({ lesson }) => lesson));
  const fresh = are("new").filter(({ question }) => question.kind === "check");
  return [
    ...are("missed").sort(longest),
    ...are("due").sort(longest),
    ...fresh.filter(({ lesson }) => begun.has(lesson)),
    ...fresh.filter(({ lesson }) => !begun.has(lesson)),
  ];
}

// The first card that is not among the last ones asked.
const pick = (cards, asked) => cards.find(({ place }) => !asked.slice(-BETWEEN).includes(place)) ?? cards[0];

// What is said where nothing is to be asked.
function doneFor(cards, day) {
  const days = cards.filter(({ record }) => standing(record, day) === "known").map(({ record }) => record.due).sort();
  const waiting = cards.some(({ record, question }) => !record && question.kind === "prediction");
  const guess = waiting ? " The predictions that are left are asked in their lessons." : "";
  if (!days.length) return `Nothing is to be asked yet.${guess}`;
  const then = days.filter((due) => due === days[0]).length;
  return `Nothing is to be asked today. The next ${some(then, "question")} will be due on ${days[0]}.${guess}`;
}

// A menu of all lessons and each of them.
function choosing(lessons, changed) {
  const label = make("label", "practice-from", "Questions from ");
  const menu = make("select", "");
  const single = lessons.map((lesson) => ({ value: lesson.name, text: nameOf(lesson) }));
  const options = [{ value: "", text: "all lessons" }, ...single];
  menu.append(...options.map((option) => Object.assign(make("option", ""), option)));
  menu.addEventListener("change", changed);
  label.append(menu);
  return { label, menu };
}

function render({ model, el }) {
  const lessons = model.get("lessons");
  const cards = cardsOf(lessons);
  const asked = [];
  const ending = new AbortController();
  let asking = new AbortController();

  el.classList.add("quiz", "quiz-is-check", "practice");
  const { label, menu } = choosing(lessons, () => turn());
  const waiting = make("span", "quiz-score");
  const source = make("p", "practice-source");
  const place = make("div", "practice-question");
  const next = makeButton("practice-next quiz-clear", "Next question", () => turn(true));
  const { element: overview, show } = progressOf(lessons, "Your progress");
  const top = make("div", "quiz-end");
  top.append(label, waiting);
  el.append(make("p", "quiz-kind", "Practice"), top, source, place, next, overview, filing(cards, () => turn()));

  const chosen = () => withAnswers(cards).filter(({ lesson }) => !menu.value || lesson === menu.value);

  function count() {
    const { missed, due } = countsOf(chosen(), today());
    const fresh = toAsk(chosen(), today()).length - missed - due;
    waiting.textContent = `${missed} missed, ${due} due, ${fresh} new`;
    show(withAnswers(cards), today());
  }

  // Ask the next question. The one on the page is left as it is, answered or not.
  function turn(byLearner = false) {
    asking.abort();
    asking = new AbortController();
    const queue = toAsk(chosen(), today());
    next.hidden = !queue.length;
    if (!queue.length) {
      source.textContent = doneFor(chosen(), today());
      place.replaceChildren();
      return;
    }
    const card = pick(queue, asked);
    asked.push(card.place);
    const prediction = card.question.kind === "prediction";
    const why = { new: "not asked yet", missed: "missed last time", due: "due again" }[standing(card.record, today())];
    const where = nameOf({ name: card.lesson, title: card.title });
    source.textContent = `${where}: ${prediction ? "a prediction, " : ""}${why}`;
    // To go on from a right answer, Enter is enough.
    const changed = () => {
      if (question.result()?.now && place.contains(document.activeElement)) next.focus();
    };
    const question = ask(card.lesson, card.question, { changed, signal: asking.signal, anew: true });
    place.replaceChildren(question.element);
    question.start();
    if (byLearner) place.querySelector("input").focus();
  }

  follow(count, ending.signal);
  turn();
  return () => {
    asking.abort();
    ending.abort();
  };
}

export default { render };
