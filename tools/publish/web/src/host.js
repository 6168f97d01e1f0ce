// Makes stored explorers, quizzes, tables and the practice interactive without a kernel. Of ipywidgets' models it knows
// those that the lessons store; a widget with any other in it keeps its still picture or its text. The names of models
// and of their entries (`_options_labels`, `_dom_classes`) are those of the format in which a notebook stores widgets.

import { followAnswer, load, placeOf, read, save } from "../../../../helpers/widgets/answers.js";
import { NOTES } from "../../../../helpers/widgets/quiz/lessons.js";
import { slugOf } from "./sections.js";

const REFERENCE = "IPY_MODEL_";

/**
 * @typedef {Model & { kind: string, save_changes(): void, send(): void }} HostModel
 * @typedef {(reference: string) => HostModel | undefined} Find
 * @typedef {{ model_name: string, state: Record<string, any>,
 *   buffers?: { path: (string | number)[], data: string }[] }} Stored
 */

// --------------------------------------------------------------------------------------------------------------------
// Models: what a widget holds, as ipywidgets and anywidget hand it to a widget's code.

/** @param {string} base64 */
function bytes(base64) {
  return new DataView(Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0)).buffer);
}

/** @param {Stored} stored @param {Model["widget_manager"]} manager @returns {HostModel} */
function makeModel({ model_name, state, buffers = [] }, manager) {
  for (const { path, data } of buffers) {
    const place = path.slice(0, -1).reduce((inner, step) => inner[step], state);
    place[path[path.length - 1]] = bytes(data);
  }
  const heard = new EventTarget();
  return {
    kind: model_name,
    widget_manager: manager,
    get: (key) => state[key],
    set(key, value) {
      if (state[key] === value) return;
      state[key] = value;
      heard.dispatchEvent(new Event(`change:${key}`));
    },
    on: (name, listener) => heard.addEventListener(name, listener),
    off: (name, listener) => heard.removeEventListener(name, listener),
    save_changes() {},
    send() {},
  };
}

/** @param {Record<string, Stored>} stored */
function readModels(stored) {
  /** @type {Record<string, HostModel>} */
  const models = {};
  /** @type {Model["widget_manager"]} */
  const manager = {
    get_model: async (id) => models[id] ?? Promise.reject(new Error(`no model ${id}`)),
  };
  for (const [id, model] of Object.entries(stored)) models[id] = makeModel(model, manager);
  /** @type {Find} */
  const find = (reference) => models[reference.slice(REFERENCE.length)];
  for (const link of Object.values(models)) {
    if (link.kind === "LinkModel") pass(find, link.get("target"), link.get("source"), false);
    if (link.kind === "LinkModel" || link.kind === "DirectionalLinkModel") {
      pass(find, link.get("source"), link.get("target"), true);
    }
  }
  return { models, find };
}

// What one model holds goes to another, at once and whenever it changes.
/** @param {Find} find @param {[string, string]} source @param {[string, string]} target @param {boolean} atOnce */
function pass(find, [source, from], [target, to], atOnce) {
  const tell = () => find(target)?.set(to, find(source)?.get(from));
  find(source)?.on(`change:${from}`, tell);
  if (atOnce) tell();
}

// --------------------------------------------------------------------------------------------------------------------
// Views: native controls, and what a widget's own code draws.

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Partial<HTMLElementTagNameMap[Tag]>} [properties]
 * @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

let controls = 0;

/** @param {HostModel} model @param {HTMLElement} element @param {HTMLElement[]} more */
function control(model, element, ...more) {
  element.id = `control-${++controls}`;
  const label = make("label", { htmlFor: element.id, textContent: model.get("description") });
  return make("div", { className: "control" }, label, element, ...more);
}

// The code of a widget runs once a page, however many widgets have it.
/** @type {Map<string, Promise<any>>} */
const modules = new Map();

/** @param {string} source */
function run(source) {
  const known = modules.get(source) ?? import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
  modules.set(source, known);
  return known;
}

/** @param {HostModel} model @param {Find} find */
async function box(model, find) {
  const element = make("div", { className: ["box", ...(model.get("_dom_classes") ?? [])].join(" ") });
  for (const child of model.get("children")) element.append(await view(find(child), find));
  return element;
}

/** @type {Record<string, (model: HostModel, find: Find) => HTMLElement | Promise<HTMLElement>>} */
const draw = {
  VBoxModel: box,
  HBoxModel: box,

  DropdownModel(model) {
    /** @type {string[]} */
    const labels = model.get("_options_labels");
    const menu = make("select", {}, ...labels.map((text) => make("option", { textContent: text })));
    const tell = () => {
      menu.selectedIndex = model.get("index");
    };
    menu.addEventListener("change", () => model.set("index", menu.selectedIndex));
    model.on("change:index", tell);
    tell();
    return control(model, menu);
  },

  SelectionSliderModel(model) {
    /** @type {string[]} */
    const labels = model.get("_options_labels");
    const range = make("input", { type: "range", min: "0", max: String(labels.length - 1), step: "1" });
    const readout = make("span", { className: "readout", ariaHidden: "true" });
    const tell = () => {
      const index = model.get("index");
      range.value = String(index);
      readout.textContent = labels[index];
      range.setAttribute("aria-valuetext", labels[index]);
    };
    range.addEventListener("input", () => model.set("index", Number(range.value)));
    model.on("change:index", tell);
    tell();
    return control(model, range, readout);
  },

  async AnyModel(model) {
    const module = await run(model.get("_esm"));
    const widget = typeof module.default === "function" ? await module.default() : module.default;
    if (model.get("_css")) document.head.append(make("style", { textContent: model.get("_css") }));
    const el = make("div");
    await widget.initialize?.({ model });
    await widget.render({ model, el });
    return el;
  },
};

/** @param {HostModel | undefined} model @param {Find} find */
async function view(model, find) {
  if (!model || !(model.kind in draw)) throw new Error(`cannot show ${model?.kind}`);
  return draw[model.kind](model, find);
}

// --------------------------------------------------------------------------------------------------------------------
// The page around the widgets.

// A link into a part that goes deeper opens it, and so does printing.
function openDeeper() {
  const follow = () => {
    const part = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    part?.closest("section")?.querySelector(":scope > details.deeper")?.setAttribute("open", "");
  };
  window.addEventListener("hashchange", follow);
  window.addEventListener("beforeprint", () => {
    for (const fold of document.querySelectorAll("details.deeper")) fold.setAttribute("open", "");
  });
  follow();
}

// For those who came to look something up.
function offerToUncoverAll() {
  /** @type {HTMLDetailsElement[]} */
  const covers = [...document.querySelectorAll("details.answer")].filter((part) => part instanceof HTMLDetailsElement);
  if (!covers.length) return;
  const button = make("button", { type: "button", className: "uncover", textContent: "Open all answers" });
  button.addEventListener("click", () => {
    const open = covers.some((cover) => !cover.open);
    for (const cover of covers) cover.open = open;
    button.textContent = open ? "Cover all answers" : "Open all answers";
  });
  document.querySelector(".run-it")?.append(button);
}

// --------------------------------------------------------------------------------------------------------------------

// What is written under "Your notes" stays in this browser, as answers do.
function keepNotes() {
  for (const box of document.querySelectorAll("textarea[data-notes]")) {
    if (!(box instanceof HTMLTextAreaElement)) continue;
    const place = placeOf(box.dataset.notes ?? "", NOTES);
    /** @param {string | null} text */
    const take = (text) => {
      const note = read(text) ?? "";
      if (box.value !== note) box.value = note; // else the cursor would jump
    };
    box.addEventListener("input", () => save(place, box.value ? JSON.stringify(box.value) : null));
    followAnswer(place, take);
    take(load(place));
    box.disabled = false;
  }
}

// What scrolls must be reachable for the arrow keys.
function reachScrolling() {
  for (const block of document.querySelectorAll("article pre, article table, div.math")) {
    if (!(block instanceof HTMLElement)) continue;
    if (block.scrollWidth > block.clientWidth) block.tabIndex = 0;
    else block.removeAttribute("tabindex");
  }
}

// The link that runs a lesson leads to the section that is being read.
function keepSection() {
  const link = document.querySelector("a.run-here");
  if (!(link instanceof HTMLAnchorElement)) return;
  if (location.protocol === "file:") {
    link.replaceWith("To run it in the browser, open these pages from a server.");
    return;
  }
  const follow = () => {
    const headings = [...document.querySelectorAll("article :is(h2, h3, h4)")];
    const above = headings.filter((heading) => heading.getBoundingClientRect().top < innerHeight / 3);
    link.hash = slugOf(above.at(-1)?.textContent ?? "");
  };
  for (const kind of ["pointerdown", "focus", "click"]) link.addEventListener(kind, follow);
}

// Paper is white, whatever the theme. Pictures that wait to be scrolled to are fetched for it.
function printOnWhite() {
  const { dataset } = document.documentElement;
  /** @type {string | undefined} */
  let theme;
  window.addEventListener("beforeprint", () => {
    theme = dataset.theme;
    dataset.theme = "light";
    for (const image of document.images) image.loading = "eager";
  });
  window.addEventListener("afterprint", () => {
    dataset.theme = theme;
  });
}

async function start() {
  const stored = document.getElementById("widget-state")?.textContent;
  const { models, find } = readModels(stored ? JSON.parse(stored) : {});
  openDeeper();
  offerToUncoverAll();
  keepNotes();
  keepSection();
  for (const place of document.querySelectorAll(".live")) {
    if (!(place instanceof HTMLElement)) continue;
    try {
      place.replaceChildren(await view(models[place.dataset.model ?? ""], find));
      place.dataset.alive = "yes";
    } catch (error) {
      console.info("A widget stays as it was stored:", error instanceof Error ? error.message : error);
    }
  }
  printOnWhite();
  reachScrolling();
  window.addEventListener("resize", reachScrolling);
  document.addEventListener("toggle", reachScrolling, { capture: true });
  performance.mark("alive");
  document.documentElement.dataset.widgets = "ready";
}

start();
