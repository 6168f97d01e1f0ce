// An extension of JupyterLab. It draws widgets again that were not loaded in time, keeps a notebook that was only opened
// from being called changed, leads from a practiced question to its lesson, and brings the styles that must be there
// before the first widget is.
//
// JupyterLab has no documented way to load an extension that is not built with its own builder. So what
// `_JUPYTERLAB` expects is used as that builder uses it: init() with the packages of the page, and get().

import page from "../../../../helpers/widgets/page.css";
import { unbroken } from "../../../../helpers/widgets/text.js";
import lab from "./lab.css";

/**
 * @template Sender, Value
 * @typedef {{ connect(slot: (sender: Sender, value: Value) => void): void }} Signal
 */
/**
 * @typedef {{ node: HTMLElement, mimeType?: string, widgets?: unknown[], hasClass(name: string): boolean,
 *   removeClass(name: string): void, renderModel?(model: unknown): Promise<void>, children?(): Iterable<Output> }} Output
 * @typedef {{ dirty: boolean, metadataChanged: Signal<unknown, { key: string }>, contentChanged: Signal<unknown, void>,
 *   stateChanged: Signal<unknown, { name: string, newValue: unknown }> }} NotebookModel
 * @typedef {{ model: { type: string, sharedModel: { getSource(): string } }, outputArea?: { widgets: Iterable<Output>, model: { get(index: number): unknown } } }} Cell
 * @typedef {{ node: HTMLElement, content: { widgets: Iterable<Cell>, activeCellIndex: number,
 *   scrollToItem(index: number, align: string): Promise<void> },
 *   context: { path: string, ready: Promise<void>, model: NotebookModel } }} Panel
 * @typedef {{ forEach(use: (panel: Panel) => void): void, widgetAdded: Signal<unknown, Panel>,
 *   currentWidget: Panel | null }} Tracker
 * @typedef {{ commands: { execute(command: string, options: object): Promise<Panel | undefined> } }} App
 * @typedef {Record<string, Record<string, { get(): Promise<() => any> }>>} Packages
 */

const WIDGET = "application/vnd.jupyter.widget-view+json";
const ADVICE = "This was not loaded in time. Reload the page (F5).";
const TRIES = 10; // of two seconds each: as long as JupyterLab looks for a widget
const LESSON = /(^|\/)\d\d_\w+\.ipynb$/;
/** @type {Packages} */
let shared; // the packages of JupyterLab itself

// JupyterLab may ask the kernel twice for its widgets while it opens a notebook. On a busy machine the second answer can
// overtake the first; then it calls widgets "not found" before it has read them from the file. So draw them again.
/** @type {WeakMap<Output, number>} */
const tried = new WeakMap();

/**
 * Whether this is the place of a widget that could not be drawn: marked as done, with nothing in it.
 *
 * @param {Output} output
 */
const failed = (output) =>
  output.mimeType === WIDGET && output.hasClass("jupyter-widgets") && output.widgets?.length === 0;

/** @param {Panel["content"]} notebook */
function drawAgain(notebook) {
  for (const { outputArea } of notebook.widgets) {
    [...(outputArea?.widgets ?? [])].forEach((output, number) => {
      const place = [...(output.children?.() ?? [])].find(failed);
      const times = place ? (tried.get(place) ?? 0) : 0;
      if (!place?.renderModel || times > TRIES) return;
      tried.set(place, times + 1);
      place.removeClass("jupyter-widgets");
      if (times === TRIES) place.node.textContent = ADVICE;
      else place.renderModel(outputArea?.model.get(number));
    });
  }
}

/**
 * Opening a notebook adds its widgets and the kernel's name of the language. That is no change of ours to be saved.
 *
 * @param {NotebookModel} model
 */
function stayClean(model) {
  let opening = false;
  let changed = false;
  model.metadataChanged.connect((_, { key }) => {
    opening = key === "language_info";
  });
  model.contentChanged.connect(() => {
    changed ||= !opening;
    opening = false;
  });
  model.stateChanged.connect((_, { name, newValue }) => {
    if (name === "dirty" && newValue && !changed) model.dirty = false;
  });
}

/**
 * Numbers such as 1e-5 stay on one line in a lesson's texts. What MathJax has yet to read is left for the next time.
 *
 * @param {HTMLElement} node
 */
function keepWhole(node) {
  for (const text of node.querySelectorAll(".jp-RenderedMarkdown, .quiz code")) {
    const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
    /** @type {Text[]} */
    const found = [];
    while (walker.nextNode()) if (walker.currentNode instanceof Text) found.push(walker.currentNode);
    for (const one of found) {
      if (one.parentElement?.closest(".nn-number, mjx-container, pre") || one.parentElement?.textContent?.includes("$"))
        continue;
      const parts = unbroken(one.data);
      if (parts.length > 1) one.replaceWith(...parts);
    }
  }
}

/**
 * The cell that asks a prediction, and above it the first of its section: [section, question], or null.
 *
 * @param {Cell[]} cells
 * @param {string} key
 */
function placesOf(cells, key) {
  const asks = cells.findIndex(({ model }) => model.sharedModel.getSource().includes(`only="${key}"`));
  if (asks < 0) return null;
  const heads = cells.map(({ model }) => model.type === "markdown" && /^## /.test(model.sharedModel.getSource()));
  return [Math.max(heads.lastIndexOf(true, asks), 0), asks];
}

/**
 * A link of the practice or the progress opens the lesson in this JupyterLab, at the section of the question that it
 * names. A click with Ctrl or another key does what it does on every link.
 *
 * @param {App} app
 * @param {Tracker} tracker
 * @param {MouseEvent} event
 */
async function follow(app, tracker, event) {
  const clicked = event.target instanceof Element ? event.target : null;
  const href = clicked?.closest(".practice a, .practice-overview a")?.getAttribute("href") ?? "";
  const [name, key] = href.split("/").slice(-1)[0].split("#");
  if (!LESSON.test(name) || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const here = tracker.currentWidget?.context.path ?? "";
  event.preventDefault();
  const path = here.slice(0, here.lastIndexOf("/") + 1) + name;
  const panel = await app.commands.execute("docmanager:open", { path });
  await panel?.context.ready;
  const places = key && panel && placesOf([...panel.content.widgets], key);
  if (!places) return;
  panel.content.activeCellIndex = places[1];
  await panel.content.scrollToItem(places[0], "start");
}

/** @param {App} app @param {Tracker} tracker */
function activate(app, tracker) {
  document.head.append(Object.assign(document.createElement("style"), { textContent: page + lab }));
  /** @param {Panel} panel */
  const watch = async (panel) => {
    panel.node.classList.toggle("nn-lesson", LESSON.test(panel.context.path));
    let waiting = 0;
    const look = () => {
      drawAgain(panel.content);
      clearTimeout(waiting);
      if (panel.node.classList.contains("nn-lesson")) waiting = setTimeout(keepWhole, 300, panel.node);
    };
    new MutationObserver(look).observe(panel.node, { childList: true, subtree: true });
    await panel.context.ready;
    stayClean(panel.context.model);
  };
  document.addEventListener("click", (event) => follow(app, tracker, event));
  tracker.forEach(watch);
  tracker.widgetAdded.connect((_, panel) => watch(panel));
}

async function get() {
  const [notebook] = Object.values(shared["@jupyterlab/notebook"]);
  const { INotebookTracker } = (await notebook.get())();
  return () => ({ id: "lessons-reload:plugin", autoStart: true, requires: [INotebookTracker], activate });
}

/** @param {Packages} packages */
const init = (packages) => {
  shared = packages;
};

globalThis._JUPYTERLAB ??= {};
globalThis._JUPYTERLAB["lessons-reload"] = { init, get };
