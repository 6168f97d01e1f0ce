// One question and its answer: what the quizzes and the practice have in common. Answers live in the browser only.
// Python removes comment lines and indentation before it sends this file (no template over two lines).

// The answers: one record as JSON for each question, under normalization-notebooks/<lesson>/<key> in localStorage.
// A record has at least `choice` and `mark`, the fingerprint of what was asked.
const PLACE = "normalization-notebooks";
// Where localStorage is refused (a sandboxed page) answers last until the page is closed.
const memory = (globalThis.normalizationAnswers ??= new Map());

// When a question is due again: so many days after an answer put it into a box. A right answer moves it up a box, but
// only on a day on which it is due; a wrong one puts it into box 0. (Leitner's boxes. Days are written "2026-11-22".)
const DAYS = [1, 3, 7, 14, 30];

const isDay = (text) => typeof text === "string" && /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));
const later = (day, days) => new Date(Date.parse(day) + days * 86400000).toISOString().slice(0, 10);

// The day where the learner is, which is not always that of Greenwich.
function today() {
  const now = new Date();
  return new Date(now.getTime() - now.getTimezoneOffset() * 60000).toISOString().slice(0, 10);
}

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
  const isOption = (choice) => Number.isInteger(choice) && choice in question.options;
  if (record?.mark !== question.mark || !isOption(record.choice)) return null;
  const { choice, mark } = record;
  const right = choice === question.right;
  const first = isOption(record.first) ? record.first : choice;
  const tries = Number.isInteger(record.tries) && record.tries > 0 ? record.tries : 1;
  const when = isDay(record.when) && record.when < today() ? record.when : today();
  const { box, due } = record;
  const isBox = Number.isInteger(box) && box in DAYS;
  const placed = isBox && isDay(due) && due <= later(today(), DAYS[box]) ? { box, due } : boxAfter(null, right, when);
  return { choice, right, when, tries, first, mark, ...placed };
}

// The first choice stays in the record, whatever is chosen later.
function answer(place, question, choice) {
  const before = parse(load(place), question);
  const { first, tries } = before ?? { first: choice, tries: 0 };
  const [when, right] = [today(), choice === question.right];
  const placed = boxAfter(before, right, when);
  save(place, JSON.stringify({ choice, right, when, tries: tries + 1, first, mark: question.mark, ...placed }));
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

// Text is always set as text; only `backticks` mean something.
function make(tag, className, text = "") {
  const element = document.createElement(tag);
  element.className = className;
  text.split("`").forEach((piece, i) => {
    const node = i % 2 ? document.createElement("code") : document.createTextNode(piece);
    if (i % 2) node.textContent = piece;
    element.append(node);
  });
  return element;
}

function makeButton(className, text, action) {
  const button = make("button", className, text);
  button.type = "button";
  button.addEventListener("click", action);
  return button;
}

// One question. `changed` is called whenever its checked answer changes; `result()` says whether the first and the
// present answer are right, or null. An answer that is kept is shown, unless the question is to be asked `anew`.
function ask(lesson, question, { number, prediction, changed, signal, anew }) {
  const place = `${PLACE}/${lesson}/${question.key}`;
  const name = "quiz-" + Math.random().toString(36).slice(2);
  let record = null;

  const element = make("fieldset", "quiz-question");
  element.append(make("legend", "quiz-prompt", (number ? number + ". " : "") + question.prompt));
  if (question.code) {
    const code = make("pre", "quiz-code");
    code.textContent = question.code;
    element.append(code);
  }

  const rows = question.options.map((text, i) => {
    const row = make("label", "quiz-option");
    const radio = make("input", "");
    Object.assign(radio, { type: "radio", name, value: i });
    radio.addEventListener("change", show);
    row.append(radio, make("span", "quiz-letter", "ABCDE"[i]), make("span", "quiz-text", text));
    element.append(row);
    return { row, radio, first: make("span", "quiz-first", prediction ? "your guess" : "first try") };
  });
  const chosen = () => rows.findIndex(({ radio }) => radio.checked);

  const foot = make("div", "quiz-foot");
  const button = makeButton("quiz-check", prediction ? "Commit to this guess" : "Check", check);
  const feedback = make("div", "quiz-feedback");
  feedback.setAttribute("role", "status");
  foot.append(button, feedback);
  element.append(foot);

  // The feedback belongs to the checked choice: it goes when another is picked and returns with it.
  function show() {
    const choice = chosen();
    button.disabled = choice < 0;
    const checked = record !== null && record.choice === choice;
    button.classList.toggle("quiz-done", checked);
    const marked = record && (prediction || record.first !== record.choice);
    rows.forEach(({ row, first }, i) => {
      delete row.dataset.result;
      if (marked && record.first === i) row.append(first);
      else first.remove();
    });
    feedback.replaceChildren();
    if (!checked) return;
    const right = choice === question.right;
    rows[choice].row.dataset.result = right ? "right" : "wrong";
    const verdict = make("strong", right ? "quiz-right" : "quiz-wrong", right ? "Right." : "Not quite.");
    feedback.append(verdict, make("span", "", " " + question.whys[choice]));
  }

  function take(text) {
    record = parse(text, question);
    rows.forEach(({ radio }, i) => (radio.checked = record !== null && record.choice === i));
    show();
    changed();
  }

  function check() {
    const choice = chosen();
    if (choice < 0) return;
    anew = false;
    answer(place, question, choice);
  }

  // Together with another key, Enter runs the cell. By itself it must not go on to what has the focus afterwards.
  element.addEventListener("keydown", (event) => {
    const { key, target, shiftKey, ctrlKey, altKey, metaKey } = event;
    if (key !== "Enter" || target.type !== "radio" || shiftKey || ctrlKey || altKey || metaKey) return;
    event.preventDefault();
    check();
  });
  // key is null when a whole storage was cleared.
  const heard = ({ key, newValue }) => {
    if (anew) return;
    if (key === place) take(newValue);
    if (key === null) take(load(place));
  };
  window.addEventListener("storage", heard, { signal });

  return {
    element,
    start: () => take(anew ? null : load(place)),
    result: () => record && { first: record.first === question.right, now: record.choice === question.right },
  };
}

// A button that asks before it acts.
function clearing(where, words) {
  const element = make("span", "quiz-clearing");
  const turn = (asking) => {
    element.replaceChildren(...(asking ? [question, yes, no] : [clear]));
    (asking ? no : clear).focus();
  };
  const clear = makeButton("quiz-clear", "Clear my answers", () => turn(true));
  const question = make("span", "", words);
  question.setAttribute("role", "status");
  const yes = makeButton("quiz-clear", "Forget them", () => {
    forget(where);
    turn(false);
  });
  const no = makeButton("quiz-clear", "Keep them", () => turn(false));
  element.append(clear);
  return element;
}
