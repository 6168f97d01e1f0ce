// Draws the practice: one question at a time out of all lessons, from the parts in question.js. What is asked follows
// from the answers that the browser keeps, so no kernel is needed. The model is read, never written.

const FORMAT = "normalization-notebooks answers 1";
const LARGEST_FILE = 2000000;
// A question that was just asked comes back after so many others at the earliest, if there are others.
const BETWEEN = 3;

// Every question is a card; `lessons` is what Python sends.
function cardsOf(lessons) {
  return lessons.flatMap(({ name, title, questions }) =>
    questions.map((question) => ({ lesson: name, title, question, place: `${PLACE}/${name}/${question.key}` })),
  );
}

const withAnswers = (cards) => cards.map((card) => ({ ...card, record: parse(load(card.place), card.question) }));

// "new" without an answer, "missed" if the last one was wrong, "due" from a day on, "known" until then.
function standing(record, day) {
  if (!record) return "new";
  if (!record.right) return "missed";
  return record.due <= day ? "due" : "known";
}

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

function countsOf(cards, day) {
  const counts = { all: cards.length, answered: 0, known: 0, due: 0, missed: 0, new: 0 };
  cards.forEach(({ record }) => (counts[standing(record, day)] += 1));
  return { ...counts, answered: counts.all - counts.new };
}

// All answers as the text of a file.
function writeAnswers(cards) {
  const answered = cards.filter(({ record }) => record);
  const answers = answered.map(({ lesson, question, record }) => [`${lesson}/${question.key}`, record]);
  return JSON.stringify({ format: FORMAT, saved: today(), answers: Object.fromEntries(answers) }, null, 1);
}

// The records of such a text that are to be kept, as [card, record], and how many are not: `older` than what is here,
// or `unknown`, of no question here. Throws an Error whose message says what is wrong with the file.
function readAnswers(text, cards) {
  const problem = (why) => new Error(`${why}. Choose a file that was saved here with "Save my answers".`);
  let file = null;
  try {
    file = JSON.parse(text);
  } catch {
    throw problem("This file cannot be read as JSON");
  }
  if (file?.format !== FORMAT) throw problem("This file holds no answers of these lessons");
  const { answers } = file;
  const broken = typeof answers !== "object" || answers === null || Array.isArray(answers);
  if (broken) throw problem("The answers in this file are broken");
  const byName = new Map(cards.map((card) => [`${card.lesson}/${card.question.key}`, card]));
  const found = { kept: [], older: 0, unknown: 0 };
  Object.entries(answers).forEach(([name, answer]) => {
    const card = byName.get(name);
    const record = card ? complete(answer, card.question) : null;
    if (!record) found.unknown += 1;
    else if (isNewer(record, card.record)) found.kept.push([card, record]);
    else found.older += 1;
  });
  return found;
}

// Of two answers to a question the later one counts; of one day, the one after more tries.
function isNewer(theirs, mine) {
  if (!mine || theirs.when > mine.when) return true;
  return theirs.when === mine.when && theirs.tries > mine.tries;
}

// "3 questions", "1 question"
const some = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
const nameOf = ({ name, title }) => `${name.slice(0, 2)} ${title}`;

// What is said where nothing is to be asked.
function doneFor(cards, day) {
  const days = cards.filter(({ record }) => standing(record, day) === "known").map(({ record }) => record.due).sort();
  const waiting = cards.some(({ record, question }) => !record && question.kind === "prediction");
  const guess = waiting ? " The predictions that are left are asked in their lessons." : "";
  if (!days.length) return `Nothing is to be asked yet.${guess}`;
  const then = days.filter((due) => due === days[0]).length;
  return `Nothing is to be asked today. The next ${some(then, "question")} will be due on ${days[0]}.${guess}`;
}

// A table: for each lesson a bar and the numbers that it shows.
function progressOf(lessons) {
  const table = make("table", "practice-progress");
  table.append(make("caption", "", "Your progress"));
  const head = make("tr", "");
  ["lesson", "", "answered", "missed", "due"].forEach((text) => {
    head.append(text ? Object.assign(make("th", `practice-of-${text}`, text), { scope: "col" }) : make("td", ""));
  });
  table.append(head);
  const rows = lessons.map((lesson) => {
    const row = make("tr", "");
    const bar = Object.assign(make("div", "practice-bar"), { ariaHidden: "true" });
    const parts = ["known", "due", "missed", "new"].map((name) => [name, make("span", `practice-${name}`)]);
    bar.append(...parts.map(([, part]) => part));
    const cells = ["answered", "missed", "due"].map((name) => [name, make("td", "")]);
    const held = make("td", "practice-picture");
    held.append(bar);
    row.append(Object.assign(make("th", "", nameOf(lesson)), { scope: "row" }), held, ...cells.map(([, cell]) => cell));
    table.append(row);
    return { name: lesson.name, parts, cells };
  });
  const show = (cards, day) => {
    rows.forEach(({ name, parts, cells }) => {
      const counts = countsOf(cards.filter(({ lesson }) => lesson === name), day);
      parts.forEach(([part, element]) => (element.style.flexGrow = counts[part]));
      cells.forEach(([cell, element]) => {
        element.textContent = cell === "answered" ? `${counts.answered} of ${counts.all}` : counts[cell];
        element.classList.toggle("practice-zero", counts[cell] === 0);
      });
    });
  };
  return { table, show };
}

// Buttons that write all answers to a file and take in those of one.
function filing(cards, taken) {
  const element = make("span", "practice-files");
  const said = make("p", "practice-said");
  said.setAttribute("role", "status");
  const write = () => {
    const file = new Blob([writeAnswers(withAnswers(cards))], { type: "application/json" });
    const href = URL.createObjectURL(file);
    Object.assign(make("a", ""), { download: `normalization-answers-${today()}.json`, href }).click();
    setTimeout(() => URL.revokeObjectURL(href), 60000);
    said.textContent = "Saved, as a download of your browser.";
  };
  const chosen = Object.assign(make("input", ""), { type: "file", accept: ".json,application/json", hidden: true });
  chosen.addEventListener("change", async () => {
    const [file] = chosen.files;
    chosen.value = "";
    if (file) said.textContent = await takeIn(file, cards).catch((error) => error.message);
    taken();
  });
  element.append(makeButton("quiz-clear", "Save my answers", write));
  element.append(makeButton("quiz-clear", "Load answers", () => chosen.click()), chosen);
  return { element, said };
}

async function takeIn(file, cards) {
  if (file.size > LARGEST_FILE) throw new Error("This file is too large to hold answers of these lessons.");
  const { kept, older, unknown } = readAnswers(await file.text(), withAnswers(cards));
  kept.forEach(([{ place }, record]) => save(place, JSON.stringify(record)));
  const parts = [`${some(kept.length, "answer")} taken in`];
  if (older) parts.push(`${older} left as here, where they are as new or newer`);
  if (unknown) parts.push(`${unknown} left out, of questions that are not here or have changed`);
  return `${parts.join("; ")}.`;
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
  const { table, show } = progressOf(lessons);
  const { element: files, said } = filing(cards, () => turn());
  const [top, end] = [make("div", "quiz-end"), make("div", "quiz-end")];
  top.append(label, waiting);
  end.append(files, clearing("", "Forget every answer of every lesson?"));
  el.append(make("p", "quiz-kind", "Practice"), top, source, place, next, table, end, said);

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

  window.addEventListener("storage", count, { signal: ending.signal });
  count();
  turn();
  return () => {
    asking.abort();
    ending.abort();
  };
}

export default { render };
