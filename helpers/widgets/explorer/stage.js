// Draws the frame that an Explorer's controls point at. Python computed every frame, the layout for several widths and
// the places of the labels; here numbers only become pixels.

import "../keys.js";
import { widget } from "../dress.js";
import { make, unbroken } from "../text.js";
import { numbers, pixels, positionOf, readLayouts, readMarks } from "./frames.js";
import { makeHandle } from "./handles.js";
import { draw, drawAxes, drawLabel } from "./marks.js";
import { makePlay } from "./play.js";
import { drawSpace, makeTurn } from "./space.js";
import { group, node, setAll } from "./svg.js";

// What ipywidgets leaves out: a slider's name stands in a label beside it; screen readers need the name and the value
// on the handle itself, in words also when the slider writes its own number there. ipywidgets has no way to ask for
// that, so this looks for the slider's parts by their names.
/** @param {Element} explorer @param {Spec} spec @param {number[]} chosen */
function nameControls(explorer, spec, chosen) {
  const sliders = [...spec.names.keys()].filter((k) => spec.kinds[k] === "slider");
  [...explorer.querySelectorAll(".noUi-handle")].forEach((handle, k) => {
    const [name, value] = [spec.names[sliders[k]], spec.options[sliders[k]][chosen[sliders[k]]]];
    if (handle.getAttribute("aria-label") !== name) handle.setAttribute("aria-label", name);
    if (handle.getAttribute("aria-valuetext") !== value) handle.setAttribute("aria-valuetext", value);
  });
}

/** @param {View} view */
function render({ model, el }) {
  /** @type {Spec} */
  const spec = model.get("spec");
  const marks = readMarks(model);
  const layouts = readLayouts(spec);
  const captionOf = numbers(model.get("caption_of"), "<u2");
  const sizes = spec.options.map((options) => options.length);
  const chosen = () => sizes.map((_, k) => Number(model.get(`at_${k}`)));
  const controls = {
    spec,
    sizes,
    chosen,
    /** @param {number[]} choices */
    choose: (choices) => {
      choices.forEach((choice, k) => {
        if (choice !== chosen()[k]) model.set(`at_${k}`, choice);
      });
    },
  };

  const figure = make("figure", "explorer-stage");
  const caption = make("figcaption", "explorer-caption");
  caption.id = `explorer-caption-${crypto.getRandomValues(new Uint32Array(4)).join("-")}`;
  caption.setAttribute("aria-live", "polite");
  const held = marks.filter((mark) => mark.kind === "handle");
  const live = held.length > 0 || spec.panels.some((panel) => panel.space);
  const picture = node("svg", { role: live ? "group" : "img", "aria-labelledby": caption.id });
  const hinted = held.find((mark) => !spec.panels[mark.panel].bare); // among cells the words would hide numbers
  const handles = held.map((mark) => makeHandle(mark, picture, controls, mark === hinted));
  /** @type {Pair[]} */
  const views = spec.panels.map((panel) => panel.space?.view ?? [0, 0]);
  figure.append(picture, caption);
  el.replaceChildren(figure);

  /** @type {Layout} */
  let layout;
  /** @type {SVGElement[]} */
  let layers;
  function lay() {
    const fitting = layouts.find(({ width }) => width <= figure.clientWidth) ?? layouts[layouts.length - 1];
    if (fitting === layout) return false;
    layout = fitting;
    setAll(picture, { viewBox: `0 0 ${layout.width} ${layout.height}` });
    layers = layout.panels.map(() => node("g"));
    const turns = layout.panels.flatMap((panel, k) => {
      /** @param {Pair} view */
      const turned = (view) => {
        views[k] = view;
        later();
      };
      return panel.space ? makeTurn(panel, panel.space, () => views[k], turned) : [];
    });
    picture.replaceChildren(
      ...layout.panels.flatMap((panel, k) => [drawAxes(panel), layers[k]]),
      ...turns,
      ...handles.map(({ element }) => element),
    );
    return true;
  }

  /** @param {PanelLayout} panel @param {number} number @param {number} position */
  function drawPanel(panel, number, position) {
    const here = marks.filter((mark) => mark.panel === number);
    if (panel.space) return drawSpace(panel, panel.space, here, position, views[number]);
    const places = pixels(panel);
    const drawn = here
      .filter((mark) => mark.kind !== "handle")
      .map((mark) => group({ class: `mark ${mark.kind}` }, ...draw[mark.kind](mark, position, places, panel)));
    const labels = here.filter((mark) => mark.label);
    return [...drawn, ...labels.map((mark) => drawLabel(mark, position, places, layout.number))];
  }

  function update() {
    const position = positionOf(chosen(), sizes);
    layout.panels.forEach((panel, number) => {
      layers[number].replaceChildren(...drawPanel(panel, number, position));
    });
    for (const { mark, show } of handles) show(layout.panels[mark.panel]);
    const words = model.get("captions")[captionOf[position]];
    if (caption.textContent !== words) caption.replaceChildren(...unbroken(words));
  }

  // One drawing per screen refresh, however many controls changed.
  let waiting = 0;
  const later = () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(update);
  };
  for (const k of sizes.keys()) model.on(`change:at_${k}`, later);
  lay();
  update();

  // While it plays, a screen reader would be told every caption.
  const play =
    spec.play === undefined
      ? null
      : makePlay(spec.play, controls, (playing) => caption.setAttribute("aria-live", playing ? "off" : "polite"));
  // The controls may be drawn after the stage, and write their own values whenever they have changed.
  const named = new MutationObserver(meet);
  function meet() {
    const explorer = figure.closest(".explorer");
    if (!explorer) return;
    const row = explorer.querySelector(".explorer-controls");
    named.observe(row ?? explorer, { subtree: true, childList: true, attributeFilter: ["aria-valuetext"] });
    nameControls(explorer, spec, chosen());
    const beside = row?.children[spec.play ?? -1];
    if (play && beside && play.button.parentNode !== beside) beside.append(play.button);
  }
  const resized = new ResizeObserver(() => {
    if (figure.clientWidth && lay()) update();
    meet();
  });
  resized.observe(figure);
  return () => {
    named.disconnect();
    play?.stop();
    play?.button.remove();
    cancelAnimationFrame(waiting);
    resized.disconnect();
    for (const k of sizes.keys()) model.off(`change:at_${k}`, later);
  };
}

export default widget(render);
