// A handle: a dot of the picture that can be taken hold of. It moves controls, to the tabulated position nearest to it;
// the controls beside the picture follow.

import { pixels } from "./frames.js";
import { onDrag, onKeys } from "./hold.js";
import { nearest, placeOf, placesOf, step } from "./nearest.js";
import { group, node, setAll, tint } from "./svg.js";

const ACROSS = { reach: 36, halo: 28, knob: 16 }; // pixels; picture.py draws the same, without the reach of a finger
const KEYS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"];

// `hinted` is whether it says that it can be dragged.
/** @param {Mark} mark @param {Element} picture @param {StageControls} controls @param {boolean} hinted */
export function makeHandle(mark, picture, { spec, sizes, chosen, choose }, hinted) {
  const moves = mark.moves ?? [];
  const circles = Object.entries(ACROSS).map(([name, across]) => node("circle", { class: name, r: across / 2 }));
  const element = group({ class: "handle", role: "slider", tabindex: 0, ...tint(mark.color) }, ...circles);
  element.setAttribute("aria-label", moves.map((k) => spec.names[k]).join(" and "));
  const hint = node("text", { class: "hint drag", "text-anchor": "middle", "aria-hidden": "true" }, "drag me");
  if (hinted) element.append(hint);

  /** @type {PanelLayout} */
  let panel;
  /** @type {Pair} */
  let grip = [0, 0]; // from the pointer to the middle of the knob
  const present = () => placeOf(mark, chosen(), sizes, pixels(panel));

  /** @param {PanelLayout} here */
  function show(here) {
    panel = here;
    const { choices, x, y } = present();
    for (const circle of circles) setAll(circle, { cx: x, cy: y });
    const [left, right] = panel.ends;
    setAll(hint, { x: Math.min(Math.max(x, left + 30), right - 30), y: y - panel.box[1] > 40 ? y - 24 : y + 34 });
    const [first] = moves;
    setAll(element, {
      "aria-valuemin": 0,
      "aria-valuemax": sizes[first] - 1,
      "aria-valuenow": choices[first],
      "aria-valuetext": moves.map((k) => `${spec.names[k]} ${spec.options[k][choices[k]]}`).join(", "),
    });
  }

  /** @param {number[]} choices */
  function moveTo(choices) {
    document.body.classList.add("nn-dragged"); // on this page no hint says any more that it can be done
    choose(choices);
  }

  /** @param {PointerEvent} event @returns {Pair} */
  function pointed({ clientX, clientY }) {
    const { left, top, width } = picture.getBoundingClientRect();
    const unit = Number(picture.getAttribute("viewBox")?.split(" ")[2]) / width;
    return [(clientX - left) * unit, (clientY - top) * unit];
  }

  onDrag(
    element,
    (event) => {
      const { x, y } = present();
      const [px, py] = pointed(event);
      grip = [x - px, y - py];
    },
    (event) => {
      const [x, y] = pointed(event);
      const here = present();
      const found = nearest(placesOf(mark, chosen(), sizes, pixels(panel)), here, x + grip[0], y + grip[1]);
      if (found !== here) moveTo(found.choices);
    },
  );
  // A finger on it never scrolls the page. Within an SVG browsers do not heed `touch-action`.
  element.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
  onKeys(element, KEYS, (key) => {
    const found = step(key, mark, chosen(), sizes, pixels(panel));
    if (found) moveTo(found.choices);
  });
  return { mark, element, show };
}
