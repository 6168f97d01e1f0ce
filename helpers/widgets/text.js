// How text comes into a widget: always as text, never as markup. Only `backticks` mean something.

// A number with an exponent or a sign in it, which a browser would break at the sign.
const NUMBER = /(\d[\d.,]*e[-−+]?\d+)/i;

// The text as nodes, in which numbers stay on one line.
/** @param {string} text @returns {Node[]} */
export function unbroken(text) {
  return text
    .split(NUMBER)
    .map((part, i) => (i % 2 ? element("span", part, "nn-number") : document.createTextNode(part)));
}

/** @param {string} tag @param {string} textContent @param {string} [className] */
const element = (tag, textContent, className = "") =>
  Object.assign(document.createElement(tag), { textContent, className });

// An element of a class with a text, in which code stands between backticks.
/** @template {keyof HTMLElementTagNameMap} Tag @param {Tag} tag @returns {HTMLElementTagNameMap[Tag]} */
export function make(tag, className = "", text = "") {
  const made = document.createElement(tag);
  if (className) made.className = className;
  text.split("`").forEach((piece, i) => {
    if (piece) made.append(...(i % 2 ? [element("code", piece)] : unbroken(piece)));
  });
  return made;
}

// Where a link may lead: to a page, or to a lesson, which is a notebook or a page of the reading site.
const ALLOWED = /^(https:\/\/|\d\d_\w+\.(ipynb|html)(#[\w-]+)?$)/;

// JupyterLab stays open where it is, so a notebook opens in a tab of its own. Its address ends with that of the notebook,
// so a file beside it is found.
/** @param {string} to @param {string} text */
export function linkTo(to, text, apart = to.includes(".ipynb")) {
  const link = make("a", "", text);
  if (ALLOWED.test(to)) Object.assign(link, { href: to }, apart && { target: "_blank", rel: "noopener" });
  return link;
}

/** @param {string} className @param {string} text @param {() => void} action */
export function makeButton(className, text, action) {
  const button = make("button", className, text);
  button.type = "button";
  button.addEventListener("click", action);
  return button;
}
