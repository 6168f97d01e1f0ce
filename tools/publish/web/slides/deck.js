// Starts a deck once its widgets live: finds the size of every slide, and leaves the keys of a control to that control.

import { projector, setUpMirror, tellOthers } from "./mirror.js";
import { layOutNotes } from "./notes.js";
import { togglePen } from "./pen.js";
import { arrange, placeOf, setUpSkipping } from "./skip.js";
import { countHand, nextStage, setUpVotes, showVotes, takeHandBack } from "./vote.js";

// ---------------------------------------------------------------------------------------------------
// Size. Content is laid out as on a page and zoomed as far as it fits, between --largest and --smallest of deck.css.

/** @param {HTMLElement} fit */
function isTooLarge(fit) {
  const frame = fit.parentElement ?? fit; // it is not zoomed, so all browsers measure it alike
  const parts = [fit, ...fit.querySelectorAll("pre, table, .katex-display, .explorer")];
  return frame.scrollHeight > frame.clientHeight || parts.some((one) => one.scrollWidth > one.clientWidth + 1);
}

/** All shrink together; those that do not fit at their smallest size are returned. @param {HTMLElement[]} fits */
function fitAll(fits, name = "--zoom") {
  let open = fits;
  for (let zoom = 2.1; open.length && zoom > 1.15; zoom -= 0.05) {
    for (const fit of open) fit.style.setProperty(name, zoom.toFixed(2));
    open = open.filter(isTooLarge);
  }
  return open;
}

/** What a learner alone is told below a question takes room, too. */
const grown = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target instanceof HTMLElement && target.offsetParent && isTooLarge(target)) fitAll([target]);
  }
});

const nextFrame = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));

/** What does not fit is set closer; what is too tall all the same scrolls, and the build says it. */
async function layOut() {
  const fits = [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".fit"))];
  await nextFrame(); // explorers take the layout for their width
  const high = fitAll(fits);
  for (const fit of high) fit.classList.add("tight");
  if (high.length) await nextFrame();
  const tall = fitAll(high);
  const votes = fits.filter((fit) => fit.closest(".is-question"));
  for (const fit of votes) fit.closest(".sheet")?.setAttribute("data-vote", "answer");
  tall.push(...fitAll(votes, "--answer-zoom"));
  for (const fit of votes) fit.closest(".sheet")?.removeAttribute("data-vote");
  for (const fit of votes) grown.observe(fit);
  for (const fit of tall) fit.closest("section")?.setAttribute("data-too-tall", "");
}

// ---------------------------------------------------------------------------------------------------
// Keys. A control keeps those that it needs, all others are the deck's. Keys from the speaker's window have no target.

const MOVES = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "Tab"];
const CONTROLS = "a, button, summary, .live :is(input, select, [tabindex])";

/** The control that has the focus. */
function focusedControl() {
  const focused = document.activeElement;
  const known = focused instanceof HTMLElement || focused instanceof SVGElement;
  return known && focused.matches(CONTROLS) ? focused : null;
}

/** @param {Element} control @param {KeyboardEvent} event */
function keeps(control, { key, ctrlKey, altKey, metaKey }) {
  const types = control.matches("input:not([type=range], [type=radio], [type=checkbox])");
  const presses = !control.matches("input[type=range], .table-frame") && [" ", "Enter"].includes(key);
  return ctrlKey || altKey || metaKey || types || presses || MOVES.includes(key);
}

/** Before reveal.js, which ignores all keys while an input has the focus. @param {KeyboardEvent} event */
function shareKeys(event) {
  const focused = focusedControl();
  if (!focused) return;
  if (event.key === "Escape") {
    focused.blur();
    event.preventDefault();
    event.stopPropagation();
  } else if (!keeps(focused, event)) {
    focused.blur();
    const slide = Reveal.getCurrentSlide();
    setTimeout(() => Reveal.getCurrentSlide() === slide && focused.isConnected && focused.focus());
  }
}

/** @param {KeyboardEvent} event */
function mayUse(event) {
  const focused = focusedControl();
  const forwarded = !event.target && event.keyCode !== 9; // Tab leads into a control there, too
  if (forwarded) focused?.blur();
  return forwarded || !focused || !keeps(focused, event);
}

/** A button that was pressed is done with: the next Space goes on. @param {Event} event */
function leavePressed({ target }) {
  if (target instanceof HTMLElement && target.matches(".quiz-check, .leave-out")) setTimeout(() => target.blur());
}

const drawOn = () => (projector ? tellOthers({ pen: true }) : togglePen());

/** @type {[string, string, () => void][]} Our own keys, with what reveal.js says of them when one presses "?". */
const KEYS = [
  ["R", "On a question: the second vote, the answer with all reasons, back", nextStage],
  ["W", "A pen on the projected slide, and off again; its drawing goes with the slide", drawOn],
  ["Backspace", "On a question: take the last hand back", takeHandBack],
];
for (const [option, key] of [..."ABCDE"].entries()) {
  const paused = key === "B" ? "; elsewhere: black screen" : "";
  KEYS.push([
    key,
    `On a question: a hand for ${key}${paused}`,
    () => countHand(option) || (paused && Reveal.togglePause()),
  ]);
}

// ---------------------------------------------------------------------------------------------------

async function begin() {
  const asked = new URLSearchParams(location.search);
  document.addEventListener("keydown", shareKeys, true);
  document.addEventListener("click", leavePressed, true);
  while (document.documentElement.dataset.widgets !== "ready") await nextFrame();
  await document.fonts.ready;
  setUpVotes();
  setUpSkipping();
  await layOut();
  arrange();
  showVotes();
  if (asked.has("print-pdf") && asked.has("notes")) {
    layOutNotes();
  } else {
    const size = { width: 1280, height: 720, margin: 0, center: false };
    const printing = { pdfMaxPagesPerSlide: 1, pdfSeparateFragments: false };
    const keys = { navigationMode: "linear", controls: false, keyboardCondition: mayUse };
    const shown = { hash: true, transition: "none", slideNumber: placeOf, defaultTiming: 0, plugins: [RevealNotes] };
    await Reveal.initialize({ ...size, ...printing, ...keys, ...shown });
    for (const [key, description, action] of KEYS) {
      Reveal.addKeyBinding({ keyCode: key === "Backspace" ? 8 : key.charCodeAt(0), key, description }, action);
    }
    setUpMirror();
  }
  document.documentElement.dataset.deck = "ready";
}

begin();
