// The deck and the slides inside the speaker's window show the same: controls, committed answers, votes, what is left
// out. A deck inside the speaker's window knows the one on the projector as the opener of its parent; the other way
// round, whoever has spoken once is answered. No storage is needed, so it works for files and for ?fresh.

import { togglePen } from "./pen.js";
import { takeSkipped } from "./skip.js";
import { takeVotes } from "./vote.js";

/** @type {Set<MessageEventSource>} */
const listeners = new Set();
export const projector = window.parent !== window && window.parent.opener;
if (projector) listeners.add(projector);
let mirroring = false;

/** @param {object} message @param {MessageEventSource | null} [except] */
export function tellOthers(message, except = null) {
  if (mirroring && !except) return;
  for (const other of listeners) {
    if (other !== except) other.postMessage({ deck: location.pathname, ...message }, { targetOrigin: "*" });
  }
}

/** @param {string} slide */
const controlsOf = (slide) => [...document.querySelectorAll(`#${CSS.escape(slide)} .live :is(input, select, button)`)];

/** @param {Event} event */
function shareControl({ target, type }) {
  const moved = target instanceof Element ? target.closest("input, select, button") : null;
  if (!moved || moved.matches("button") !== (type === "click")) return;
  const slide = moved.closest("section")?.id ?? "";
  const control = controlsOf(slide).indexOf(moved);
  const { value, checked, selectedIndex } = /** @type {any} */ (moved);
  if (control >= 0) tellOthers({ slide, control, set: { value, checked, selectedIndex } });
}

/** @param {{slide: string, control: number, set: object}} told */
function takeControl({ slide, control: place, set }) {
  const control = controlsOf(slide)[place];
  if (control instanceof HTMLButtonElement) return control.click();
  if (control) Object.assign(control, set);
  for (const type of ["input", "change"]) control?.dispatchEvent(new Event(type, { bubbles: true }));
}

/** @param {MessageEvent} message */
function hear({ data, source }) {
  if (data?.deck !== location.pathname || !source) return;
  listeners.add(source);
  mirroring = true;
  if ("control" in data) takeControl(data);
  if ("votes" in data) takeVotes(data);
  if ("skipped" in data) takeSkipped(data.skipped);
  if ("pen" in data && !projector) togglePen();
  mirroring = false;
  if (!projector) tellOthers(data, source); // from one window of the speaker to the other
}

export function setUpMirror() {
  window.addEventListener("message", hear);
  for (const type of ["input", "change", "click"]) document.addEventListener(type, shareControl, true);
  tellOthers({ hello: true });
}
