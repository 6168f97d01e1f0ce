// Draws one question and keeps its answer: what the quizzes and the practice have in common.

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
  // A page that the browser had put aside has heard nothing.
  window.addEventListener("pageshow", ({ persisted }) => persisted && heard({ key: null }), { signal });

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
