// An extension of JupyterLite, for what it lacks: widgets that live before the kernel does, and still live on the second
// day; the advice of `make lab` after a forgotten first cell; a word where Python has stopped; and the line of work.js.
// JupyterLab has no documented way to load an extension that is not built with its own builder; so what `_JUPYTERLAB`
// expects is used as that builder uses it: init() with the packages of the page, and get().

import { STYLE, Work } from "./work.js";

/**
 * @template Sender, Value
 * @typedef {{ connect(slot: (sender: Sender, value: Value) => void): void }} Signal
 */
/**
 * @typedef {{ model_name: string, state: Record<string, unknown> }} Model
 * @typedef {Record<string, Model>} Models
 * @typedef {{ cell_type: string, id?: string, source: string,
 *   outputs?: { data?: Record<string, { model_id: string }> }[] }} Cell
 * @typedef {{ sharedModel: { toJSON(): { cells: Cell[] } }, metadataChanged: Signal<unknown, { key: string }>,
 *   getMetadata(key: string): any, setMetadata(key: string, value: unknown): void }} Notebook
 * @typedef {{ requestCommInfo: (content: object) => Promise<object>, createComm: (target: string, id?: string) => object,
 *   requestExecute(content: object): object, id: string, status: string, statusChanged: Signal<unknown, string>,
 *   iopubMessage: Signal<unknown, { content: { ename?: string } }> }} Kernel
 * @typedef {import("./work.js").LessonPanel & { context: { model: Notebook },
 *   sessionContext: { session: { kernel: Kernel | null } | null,
 *     kernelChanged: Signal<unknown, { newValue: Kernel | null }> } }} Panel
 * @typedef {{ forEach(use: (panel: Panel) => void): void, widgetAdded: Signal<unknown, Panel> }} Tracker
 * @typedef {Record<string, Record<string, { get(): Promise<() => any> }>>} Packages
 */

const STATE = "application/vnd.jupyter.widget-state+json";
const VIEW = "application/vnd.jupyter.widget-view+json";
/** @type {Packages} */
let shared; // the packages of JupyterLab itself
/** @type {new (options: { node: HTMLElement }) => import("./work.js").Line} */
let widget;
/** @type {{ path: string, section: string } | null} */
let wanted = null; // the place in a lesson to which the address leads

const PATIENCE = 120_000; // milliseconds that Python may take to start
const FIRST_PAGES = 1024; // of 64 kB
const KEPT = "What you wrote is still here.";
const NOT_STARTED = `Python could not start: its files did not arrive, or this browser has too little memory. ${KEPT}`;
const STOPPED = `Python has stopped in this browser. ${KEPT} Restart it, then run the cells from the top.`;
const NO_MEMORY = `Python has used all the memory that this browser gives it. ${KEPT}`;

/**
 * JupyterLite's kernels never answer "which comms are there?", for which JupyterLab's widget manager waits before it
 * reads the widgets of the file. A kernel that has just started has none, so this answers at once.
 *
 * @param {Kernel} kernel
 */
function answerForKernel(kernel) {
  kernel.requestCommInfo = async () => ({ content: { status: "ok", comms: {} } });
  const create = kernel.createComm;
  kernel.createComm = function (target, id) {
    if (target === "jupyter.widget.control") throw new Error("This kernel has no control comm.");
    return create.call(this, target, id);
  };
}

/**
 * Let a NameError say which cells to run first, and packages load when they are needed: lessons_kernel.py.
 *
 * @param {Kernel} kernel
 * @param {Panel["context"]} context
 */
async function advise(kernel, context) {
  await context.ready;
  const cells = context.model.sharedModel
    .toJSON()
    .cells.map(({ cell_type, id, source }) => ({ cell_type, id, source }));
  kernel.requestExecute({
    code: `__import__("lessons_kernel").start(get_ipython(), ${JSON.stringify(JSON.stringify({ cells }))}, "${kernel.id}")`,
    silent: true,
    store_history: false,
  });
}

/**
 * The ids of all widgets that a piece of state names.
 *
 * @param {any} value
 * @returns {string[]}
 */
function references(value) {
  if (typeof value === "string") return value.startsWith("IPY_MODEL_") ? [value.slice("IPY_MODEL_".length)] : [];
  if (!value || typeof value !== "object") return [];
  const own = value[VIEW] ? [value[VIEW].model_id] : [];
  return own.concat(...Object.values(value).map(references));
}

/**
 * What the cells show and what that stands on, from the kernel's widgets and from those that were there before.
 *
 * @param {string[]} shown
 * @param {Models} models
 */
export function complete(shown, models) {
  /** @type {Models} */
  const kept = {};
  const todo = [...shown];
  for (let id = todo.pop(); id !== undefined; id = todo.pop()) {
    if (!models[id] || kept[id]) continue;
    kept[id] = models[id];
    todo.push(...references(models[id].state));
  }
  for (const [id, { model_name, state }] of Object.entries(models)) {
    if (!/^(Directional)?LinkModel$/.test(model_name)) continue; // nobody names a link; it names what it joins
    const ends = references([state.source, state.target]);
    if (ends.length && ends.every((end) => kept[end])) kept[id] = models[id];
  }
  return kept;
}

/**
 * JupyterLab saves only the widgets of its running kernel. What a cell that was not run still shows keeps the state
 * with which it was loaded, as with the hook of `make lab` (widget_state.py).
 *
 * @param {Notebook} notebook
 */
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

/** Whether the browser gives the memory with which Python begins. */
function hasRoom() {
  try {
    return Boolean(new WebAssembly.Memory({ initial: FIRST_PAGES }));
  } catch {
    return false;
  }
}

/**
 * Say so where Python has no memory, stops, or never starts. A kernel of JupyterLite that breaks keeps its last status
 * and answers nobody.
 *
 * @param {Panel} panel
 * @param {Work} work
 * @returns {(kernel: Kernel) => void} what to do with each new kernel
 */
function watchHealth({ node }, work) {
  /** @type {Kernel | null} */
  let running = null;
  const give = (/** @type {string} */ words) => node.isConnected && work.stopped(words);
  const late = setTimeout(() => give(NOT_STARTED), PATIENCE);
  if (!hasRoom()) work.stopped(NOT_STARTED);
  // Where Python itself breaks, lessons_kernel.py names the kernel here; its cell stays busy.
  new BroadcastChannel("lessons-stopped").onmessage = ({ data }) => {
    if (data !== running?.id) return;
    running = null;
    give(STOPPED);
  };
  return (kernel) => {
    running = null;
    kernel.statusChanged.connect((_, status) => {
      if (status === "idle" && running !== kernel) {
        running = kernel;
        clearTimeout(late);
        work.started();
      }
      if (status === "dead") give(STOPPED);
    });
    kernel.iopubMessage.connect((_, { content }) => {
      if (content.ename?.includes("MemoryError")) give(NO_MEMORY);
    });
  };
}

/**
 * @param {import("./work.js").App} app
 * @param {Tracker} tracker
 */
function activate(app, tracker) {
  document.head.append(Object.assign(document.createElement("style"), { textContent: STYLE }));
  const base = new URL("../", location.href.replace(/[?#].*/, "")).href;
  const about = fetch(`${base}lessons.json`, { cache: "no-cache" }).then((answer) => answer.json());
  /** @type {Panel[]} */
  const open = [];
  /** @type {WeakSet<Kernel>} */
  const known = new WeakSet();
  /** @param {Panel} panel */
  const watch = (panel) => {
    const { context, sessionContext } = panel;
    const work = new Work(app, panel, widget, base, () => open.filter(({ node }) => node.isConnected));
    open.push(panel);
    const watchThis = watchHealth(panel, work);
    /** @param {Kernel | null | undefined} kernel */
    const meet = (kernel) => {
      if (!kernel || known.has(kernel)) return;
      known.add(kernel);
      answerForKernel(kernel);
      watchThis(kernel);
      advise(kernel, context);
      let restarted = false;
      kernel.statusChanged.connect((_, status) => {
        if (restarted && status === "idle") advise(kernel, context);
        restarted = status.includes("restarting") || (restarted && status !== "idle");
      });
    };
    context.ready.then(async () => {
      keepWidgets(context.model);
      if (wanted && context.path === wanted.path) work.goTo(wanted.section);
      wanted = null;
      work.compare(await about);
    });
    meet(sessionContext.session?.kernel);
    sessionContext.kernelChanged.connect((_, { newValue }) => meet(newValue));
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
  const { INotebookTracker } = await load("@jupyterlab/notebook");
  widget = (await load("@lumino/widgets")).Widget;
  return () => ({ id: "lessons-lite:plugin", autoStart: true, requires: [INotebookTracker], activate });
}

/** @param {Packages} packages */
const init = (packages) => {
  shared = packages;
  const asked = new URLSearchParams(location.search); // JupyterLab takes the path out of the address
  const [path, section] = [asked.get("path"), asked.get("section")];
  if (path && section) wanted = { path, section };
};

globalThis._JUPYTERLAB ??= {};
globalThis._JUPYTERLAB["lessons-lite"] = { init, get };
