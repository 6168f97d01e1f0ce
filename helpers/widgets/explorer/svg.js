// Elements of a picture.

const SVG = "http://www.w3.org/2000/svg";

/** @param {Element} element @param {Record<string, string | number>} attributes */
export function setAll(element, attributes) {
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
}

// The words are never interpreted as markup.
/** @param {string} name @param {Record<string, string | number>} [attributes] @param {string} [words] */
export function node(name, attributes = {}, words = "") {
  const element = document.createElementNS(SVG, name);
  setAll(element, attributes);
  if (words) element.textContent = words;
  return element;
}

/** @param {string} color of the palette, whose variables the style sheet uses for strokes, words and cells */
export const tint = (color) => ({
  style: `--color: var(--nn-${color}); --words: var(--nn-${color}-words); --fill: var(--nn-fill-${color})`,
});

/** @param {Record<string, string | number>} attributes @param {SVGElement[]} children */
export function group(attributes, ...children) {
  const made = node("g", attributes);
  made.append(...children);
  return made;
}
