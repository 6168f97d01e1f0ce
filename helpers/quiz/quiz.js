// Draws one quiz. Answers live in the browser only; the model is read, never written, so answering changes no
// notebook. Python removes comment lines and indentation before it sends this file (no template over two lines).

// The answers: one record as JSON for each question, under normalization-notebooks/<lesson>/<key> in localStorage.
// A record has at least `choice` and `mark`, the fingerprint of what was asked.
const PLACE = "normalization-notebooks";
// Where localStorage is refused (a sandboxed page) answers last until the page is closed.
const memory = new Map();

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
    const record = JSON.parse(text);
    const known = record.mark === question.mark && Number.isInteger(record.choice);
    return known && record.choice in question.options ? { first: record.choice, tries: 1, ...record } : null;
  } catch {
    return null;
  }
}

// The first choice stays in the record, whatever is chosen later.
function answer(place, question, choice) {
  const { first, tries } = parse(load(place), question) ?? { first: choice, tries: 0 };
  const when = new Date().toISOString().slice(0, 10);
  const right = choice === question.right;
  save(place, JSON.stringify({ choice, right, when, tries: tries + 1, first, mark: question.mark }));
}

function forget(lesson) {
  const places = [...memory.keys()];
  try {
    places.push(...Object.keys(localStorage));
  } catch {
    // refused: all there is, is in memory
  }
  places.filter((place) => place.startsWith(`${PLACE}/${lesson}/`)).forEach((place) => save(place, null));
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
// present answer are right, or null.
function ask(lesson, question, number, prediction, changed, signal) {
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
    if (choice >= 0) answer(place, question, choice);
  }

  // Together with another key, Enter runs the cell.
  element.addEventListener("keydown", ({ key, target, shiftKey, ctrlKey, altKey, metaKey }) => {
    if (key === "Enter" && target.type === "radio" && !(shiftKey || ctrlKey || altKey || metaKey)) check();
  });
  // key is null when a whole storage was cleared.
  const heard = ({ key, newValue }) => {
    if (key === place) take(newValue);
    if (key === null) take(load(place));
  };
  window.addEventListener("storage", heard, { signal });

  return {
    element,
    start: () => take(load(place)),
    result: () => record && { first: record.first === question.right, now: record.choice === question.right },
  };
}

// "3 of 7 right, 2 to answer", and the first try apart as soon as an answer was changed.
function scoreOf(asked) {
  const results = asked.map((question) => question.result()).filter((result) => result);
  const count = (when) => results.filter((result) => result[when]).length;
  const changed = results.some(({ first, now }) => first !== now);
  const [first, now, total] = [count("first"), count("now"), asked.length];
  const open = total - results.length;
  const score = changed ? `first try ${first} of ${total}, now ${now} of ${total}` : `${now} of ${total} right`;
  return open ? `${score}, ${open} to answer` : score;
}

// A button that asks before it acts.
function clearing(lesson) {
  const element = make("span", "quiz-clearing");
  const turn = (asking) => {
    element.replaceChildren(...(asking ? [question, yes, no] : [clear]));
    (asking ? no : clear).focus();
  };
  const clear = makeButton("quiz-clear", "Clear my answers", () => turn(true));
  const question = make("span", "", "Forget every answer of this lesson, predictions too?");
  question.setAttribute("role", "status");
  const yes = makeButton("quiz-clear", "Forget them", () => {
    forget(lesson);
    turn(false);
  });
  const no = makeButton("quiz-clear", "Keep them", () => turn(false));
  element.append(clear);
  return element;
}

function render({ model, el }) {
  const [lesson, questions] = [model.get("lesson"), model.get("questions")];
  const prediction = model.get("kind") === "prediction";
  const many = questions.length > 1;
  const ending = new AbortController();
  el.classList.add("quiz", prediction ? "quiz-is-prediction" : "quiz-is-check");
  el.append(make("p", "quiz-kind", prediction ? "Your prediction" : "Skill check"));

  const score = make("span", "quiz-score");
  score.setAttribute("role", "status");
  const changed = () => (score.textContent = scoreOf(asked));
  const asked = questions.map((question, i) =>
    ask(lesson, question, many && i + 1, prediction, () => many && changed(), ending.signal),
  );
  asked.forEach((question) => el.append(question.element));
  if (many) {
    const end = make("div", "quiz-end");
    end.append(score, clearing(lesson));
    el.append(end);
  }
  asked.forEach((question) => question.start());
  return () => ending.abort();
}

export default { render };
