// An extension of JupyterLite, for what it lacks: widgets that live before the kernel does, and still live on the second
// day; the advice of `make lab` after a forgotten first cell; a word where Python does not start; and the line of work.js.
// JupyterLab has no documented way to load an extension that is not built with its own builder. So what `_JUPYTERLAB`
// expects is used as that builder uses it: init() with the packages of the page, and get().

import { STYLE, Work } from "./work.js";

/**
 * @template Sender, Value
 * @typedef {{ connect(slot: (sender: Sender, value: Value) => void): void }} Signal
 */
/**
 * @typedef {Record<string, { model_name: string, state: Record<string, unknown> }>} Models
 * @typedef {{ outputs?: { data?: Record<string, { model_id: string }> }[] }} Cell
 * @typedef {{ sharedModel: { toJSON(): { cells: Cell[] } }, metadataChanged: Signal<unknown, { key: string }>,
 *   getMetadata(key: string): any, setMetadata(key: string, value: unknown): void, dirty: boolean,
 *   contentChanged: Signal<unknown, void>, stateChanged: Signal<unknown, { name: string, newValue: unknown }> }} Notebook
 * @typedef {{ requestCommInfo: (content: object) => Promise<object>, createComm: (target: string, id?: string) => object,
 *   requestExecute(content: object): object, statusChanged: Signal<unknown, string> }} Kernel
 * @typedef {import("./work.js").LessonPanel & { context: { model: Notebook },
 *   sessionContext: { session: { kernel: Kernel | null } | null,
 *     kernelChanged: Signal<unknown, { newValue: Kernel | null }> } }} Panel
 * @typedef {{ forEach(use: (panel: Panel) => void): void, widgetAdded: Signal<unknown, Panel> }} Tracker
 * @typedef {Record<string, Record<string, { get(): Promise<() => any> }>>} Packages
 */

const STATE = "application/vnd.jupyter.widget-state+json";
const VIEW = "application/vnd.jupyter.widget-view+json";
const PATIENCE = 120_000; // milliseconds that Python may take to start
const NOT_STARTED =
  "Python could not start: its files did not arrive, or this browser has too little memory. What you wrote is still here.";
// The place in a lesson to which the address leads, out of which JupyterLab soon takes it.
const wanted = {
  path: new URLSearchParams(location.search).get("path"),
  section: decodeURIComponent(location.hash.slice(1)),
};

/** @type {Packages} */
let shared; // the packages of JupyterLab itself

// JupyterLite's kernels never answer "which comms are there?", for which JupyterLab's widget manager waits before it
// reads the widgets of the file. A kernel that has just started has none, so this answers at once.
/** @param {Kernel} kernel */
function answerForKernel(kernel) {
  kernel.requestCommInfo = async () => ({ content: { status: "ok", comms: {} } });
  const create = kernel.createComm;
  kernel.createComm = function (target, id) {
    if (target === "jupyter.widget.control") throw new Error("This kernel has no control comm.");
    return create.call(this, target, id);
  };
}

// Let a NameError say what to run first: lite.py writes `lessonsKernel` before this script.
/** @param {Kernel} kernel */
function prepare(kernel) {
  const code = `exec(${JSON.stringify(globalThis.lessonsKernel)}, {"shell": get_ipython()})`;
  kernel.requestExecute({ code, silent: true, store_history: false });
}

// The ids of all widgets that a piece of state names.
/** @param {unknown} state */
const named = (state) =>
  [...JSON.stringify(state).matchAll(/"(?:IPY_MODEL_|model_id":")([\w-]+)"/g)].map(([, id]) => id);

// Of some widgets, those that the cells show, what these stand on, and the links between them, which nobody names.
/** @param {string[]} shown @param {Models} models */
export function complete(shown, models) {
  /** @type {Models} */
  const kept = {};
  const keep = (/** @type {string} */ id) => {
    if (!models[id] || kept[id]) return;
    kept[id] = models[id];
    named(models[id].state).forEach(keep);
  };
  shown.forEach(keep);
  for (const [id, { model_name, state }] of Object.entries(models)) {
    const ends = /^(Directional)?LinkModel$/.test(model_name) ? named([state.source, state.target]) : [];
    if (ends.length && ends.every((end) => kept[end])) kept[id] = models[id];
  }
  return kept;
}

// JupyterLab saves only the widgets of its running kernel. What a cell that was not run still shows keeps the state
// with which it was loaded, as with the hook of `make lab` (widget_state.py).
/** @param {Notebook} notebook */
function keepWidgets(notebook) {
  /** @returns {Models} */
  const read = () => notebook.getMetadata("widgets")?.[STATE]?.state ?? {};
  let before = read();
  let busy = false;
  notebook.metadataChanged.connect((_, { key }) => {
    if (key !== "widgets" || busy) return;
    const { cells } = notebook.sharedModel.toJSON();
    const shown = cells.flatMap(({ outputs }) => (outputs ?? []).flatMap(({ data }) => data?.[VIEW]?.model_id ?? []));
    before = complete(shown, { ...before, ...read() });
    busy = true;
    notebook.setMetadata("widgets", { [STATE]: { state: before, version_major: 2, version_minor: 0 } });
    busy = false;
  });
}

// Opening a lesson adds its widgets and the kernel's name of the language. That is no change of ours to be saved: what
// was never changed follows the published lesson.
/** @param {Notebook} notebook */
function stayClean(notebook) {
  let [opening, changed] = [false, false];
  notebook.metadataChanged.connect((_, { key }) => {
    opening = key === "language_info";
  });
  notebook.contentChanged.connect(() => {
    changed ||= !opening;
    opening = false;
  });
  notebook.stateChanged.connect((_, { name, newValue }) => {
    if (name === "dirty" && newValue && !changed) notebook.dirty = false;
  });
}

// Prepare each new kernel of a lesson, and say so where Python does not start.
/** @param {Panel} panel @param {Work} work */
function watchKernels({ node, sessionContext }, work) {
  const late = setTimeout(() => node.isConnected && work.stopped(NOT_STARTED), PATIENCE);
  /** @type {WeakSet<Kernel>} */
  const known = new WeakSet();
  /** @param {Kernel | null | undefined} kernel */
  const meet = (kernel) => {
    if (!kernel || known.has(kernel)) return;
    known.add(kernel);
    answerForKernel(kernel);
    prepare(kernel);
    let [started, restarted] = [false, false];
    kernel.statusChanged.connect((_, status) => {
      if (status.includes("restarting")) restarted = true;
      if (status !== "idle" || (started && !restarted)) return;
      clearTimeout(late);
      work.started();
      if (restarted) prepare(kernel);
      [started, restarted] = [true, false];
    });
  };
  meet(sessionContext.session?.kernel);
  sessionContext.kernelChanged.connect((_, { newValue }) => meet(newValue));
}

/** @param {import("./work.js").App} app @param {Tracker} tracker @param {import("./work.js").NewLine} Widget */
function activate(app, tracker, Widget) {
  document.head.append(Object.assign(document.createElement("style"), { textContent: STYLE }));
  const base = new URL("../", location.href.replace(/[?#].*/, "")).href;
  const about = fetch(`${base}lessons.json`, { cache: "no-cache" }).then((answer) => answer.json());
  /** @type {Panel[]} */
  const open = [];
  /** @param {Panel} panel */
  const watch = async (panel) => {
    const { context } = panel;
    const work = new Work(app, panel, Widget, base, () => open.filter(({ node }) => node.isConnected));
    open.push(panel);
    watchKernels(panel, work);
    await context.ready;
    keepWidgets(context.model);
    stayClean(context.model);
    if (context.path === wanted.path) work.goTo(wanted.section);
    work.compare(await about);
  };
  document.addEventListener("click", (event) => {
    const clicked = event.target instanceof Element ? event.target.closest(".practice a, .practice-overview a") : null;
    const path = clicked?.getAttribute("href")?.split("#")[0];
    if (!path) return;
    event.preventDefault(); // here a notebook has no address of its own
    app.commands.execute("docmanager:open", { path });
  });
  tracker.forEach(watch);
  tracker.widgetAdded.connect((_, panel) => watch(panel));
}

/** @param {string} name */
async function load(name) {
  const [version] = Object.values(shared[name]);
  return (await version.get())();
}

async function get() {
  const [{ INotebookTracker }, { Widget }] = [await load("@jupyterlab/notebook"), await load("@lumino/widgets")];
  return () => ({
    id: "lessons-lite:plugin",
    autoStart: true,
    requires: [INotebookTracker],
    activate: (/** @type {any} */ app, /** @type {any} */ tracker) => activate(app, tracker, Widget),
  });
}

/** @param {Packages} packages */
const init = (packages) => {
  shared = packages;
};

globalThis._JUPYTERLAB ??= {};
globalThis._JUPYTERLAB["lessons-lite"] = { init, get };
