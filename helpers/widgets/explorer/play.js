// A button beside a control that runs through its values once, on request; `told` hears when it begins and ends.

import { makeButton } from "../text.js";

const DURATION = 4000; // milliseconds, of all values together

/** @param {number} k @param {StageControls} controls @param {(playing: boolean) => void} told */
export function makePlay(k, { spec, sizes, chosen, choose }, told) {
  const button = makeButton("explorer-play", "", () => {
    if (playing) stop();
    else if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      choose(chosen().with(k, (chosen()[k] + 1) % sizes[k]));
    } else start();
  });
  /** @type {AbortController | null} */
  let playing = null;

  function show() {
    button.textContent = playing ? "❚❚" : "▶";
    button.setAttribute("aria-label", `${playing ? "Stop" : "Play"}: ${spec.names[k]}`);
    told(playing !== null);
  }

  function stop() {
    if (!playing) return;
    playing.abort();
    playing = null;
    show();
  }

  function start() {
    const begun = performance.now();
    playing = new AbortController();
    const options = { capture: true, signal: playing.signal };
    // Whatever is pressed stops it, and still does what it does elsewhere.
    for (const kind of ["keydown", "pointerdown"]) {
      window.addEventListener(kind, (event) => event.target !== button && stop(), options);
    }
    const go = () => {
      if (options.signal.aborted) return;
      const passed = (performance.now() - begun) / DURATION;
      const value = Math.min(sizes[k] - 1, Math.floor(passed * sizes[k]));
      if (value !== chosen()[k]) choose(chosen().with(k, value));
      if (passed >= 1 || !button.isConnected) stop();
      else requestAnimationFrame(go);
    };
    show();
    requestAnimationFrame(go);
  }

  // A click leaves the focus where it is, so that the space bar still turns a slide.
  button.addEventListener("pointerdown", (event) => event.preventDefault());
  button.addEventListener("mousedown", (event) => event.preventDefault());
  show();
  return { button, stop };
}
