// Draws one quiz. Answers live in the browser only; the model is read, never written, so answering changes no
// notebook. Python removes comment lines and indentation before it sends this file (no template over two lines).

// Where localStorage is refused (a sandboxed page) answers last as long as the page.
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
    return known && record.choice in question.options ? record : null;
  } catch {
    return null;
  }
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

// One question. `changed` is called whenever its checked answer changes; `right()` is true, false or undefined.
function ask(lesson, question, number, prediction, changed, signal) {
  const place = `normalization-notebooks/${lesson}/${question.key}`;
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
    // JupyterLab would take the arrow keys for itself and leave the cell.
    radio.dataset.lmSuppressShortcuts = "true";
    radio.addEventListener("change", show);
    row.append(radio, make("span", "quiz-letter", "ABCDE"[i]), make("span", "quiz-text", text));
    element.append(row);
    return { row, radio, guess: make("span", "quiz-guess", "your guess") };
  });
  const chosen = () => rows.findIndex(({ radio }) => radio.checked);

  const foot = make("div", "quiz-foot");
  const button = make("button", "quiz-check", prediction ? "Commit to this guess" : "Check");
  button.type = "button";
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
    rows.forEach(({ row, guess }, i) => {
      delete row.dataset.result;
      if (prediction && record && record.first === i) row.append(guess);
      else guess.remove();
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
    const when = new Date().toISOString().slice(0, 10);
    const { first = choice, tries = 0 } = record ?? {};
    const answer = { choice, right: choice === question.right, when, tries: tries + 1, first };
    save(place, JSON.stringify({ ...answer, mark: question.mark }));
  }

  button.addEventListener("click", check);
  element.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.type === "radio") check();
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
    clear: () => save(place, null),
    right: () => (record ? record.choice === question.right : undefined),
  };
}

function render({ model, el }) {
  const questions = model.get("questions");
  const prediction = model.get("kind") === "prediction";
  const many = questions.length > 1;
  const ending = new AbortController();
  el.classList.add("quiz");

  const score = make("span", "quiz-score");
  score.setAttribute("role", "status");
  function count() {
    const results = asked.map((question) => question.right());
    const open = results.filter((right) => right === undefined).length;
    const right = results.filter((right) => right).length;
    score.textContent = `${right} of ${asked.length} right` + (open ? `, ${open} to answer` : "");
  }

  const asked = questions.map((question, i) =>
    ask(model.get("lesson"), question, many && i + 1, prediction, () => many && count(), ending.signal),
  );
  asked.forEach((question) => el.append(question.element));

  if (many) {
    const clear = make("button", "quiz-clear", "Clear my answers");
    clear.type = "button";
    clear.addEventListener("click", () => {
      asked.forEach((question) => question.clear());
      score.textContent = "Your answers are cleared: " + score.textContent;
    });
    const end = make("div", "quiz-end");
    end.append(score, clear);
    el.append(end);
  }
  asked.forEach((question) => question.start());
  return () => ending.abort();
}

export default { render };
