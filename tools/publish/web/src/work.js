// What a learner does with a lesson in the browser beside running it: a line above the notebook leads to the page for
// reading, saves work as files and loads it again, takes a corrected lesson, and starts Python again where it stopped.

import { strFromU8, strToU8, unzipSync, zipSync } from "fflate";
import { save as saveAnswer, today } from "../../../../helpers/widgets/answers.js";
import { cardsOf, readAnswers, some, withAnswers, writeAnswers } from "../../../../helpers/widgets/quiz/lessons.js";
import { slugOf } from "./sections.js";

/**
 * @typedef {{ cells: { cell_type: string, source: string | string[], metadata: { trusted?: boolean } }[],
 *   metadata: { normalization_notebooks?: { original: string } } }} Copy
 * @typedef {{ name: string, path: string, type: string, last_modified: string, content: any }} File_
 * @typedef {{ get(path: string, options: object): Promise<File_>, save(path: string, options: object): Promise<File_>,
 *   rename(path: string, to: string): Promise<File_> }} Contents
 * @typedef {{ serviceManager: { contents: Contents }, commands: { execute(id: string, args: object): Promise<unknown> } }} App
 * @typedef {{ node: HTMLElement }} Line
 * @typedef {new (options: { node: HTMLElement }) => Line} NewLine
 * @typedef {{ model: { type: string, sharedModel: { getSource(): string } } }} Cell
 * @typedef {{ node: HTMLElement, contentHeader: { addWidget(line: Line): void, fit(): void },
 *   content: { activeCellIndex: number, widgets: Cell[], scrollToItem(index: number, where: string): Promise<void> },
 *   context: { path: string, ready: Promise<void>, model: { dirty: boolean, getMetadata(key: string): any },
 *     save(): Promise<void>, revert(): Promise<void> },
 *   sessionContext: { changeKernel(kernel: object): Promise<unknown> } }} LessonPanel
 */

const KEY = "normalization_notebooks";
const ANSWERS = "answers.json";

/** @param {string} path */
const nameOf = (path) => path.split("/").slice(-1)[0];

// The names of the headings in a cell.
/** @param {Cell} cell */
function headingsOf({ model: { type, sharedModel } }) {
  const headings = type === "markdown" ? sharedModel.getSource().matchAll(/^#+ (.*)/gm) : [];
  return [...headings].map(([, words]) => slugOf(words));
}

/** @param {unknown} notebook */
const written = (notebook) => `${JSON.stringify(notebook, null, 1)}\n`;

// --------------------------------------------------------------------------------------------------------------------
// Files

// The notebooks that this browser keeps; all others lie on the server as they were published.
/** @param {Contents} contents @param {string} base */
async function ownNotebooks(contents, base) {
  const published = await (await fetch(`${base}api/contents/all.json`)).json();
  /** @type {Map<string, string>} */
  const times = new Map(published.content.map((/** @type {File_} */ file) => [file.path, file.last_modified]));
  /** @type {string[]} */
  const own = [];
  const folders = [""];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const { path, type, last_modified } of (await contents.get(folder, { content: true })).content) {
      if (type === "directory") folders.push(path);
      else if (path.endsWith(".ipynb") && times.get(path) !== last_modified) own.push(path);
    }
  }
  return own.sort();
}

// Give a notebook a name of its own, as `make reset` does; return it.
/** @param {Contents} contents @param {string} path */
async function keepAside(contents, path) {
  const there = new Set(
    (await contents.get("", { content: true })).content.map((/** @type {File_} */ { path }) => path),
  );
  const [number, ...rest] = nameOf(path).split("_");
  let n = 1;
  while (there.has(`${number}_mine-${n}_${rest.join("_")}`)) n++;
  const aside = `${number}_mine-${n}_${rest.join("_")}`;
  await contents.rename(path, aside);
  return aside;
}

// The notebooks and the answers in a file of this browser: a notebook, a file of answers, or a ZIP file of them.
/** @param {File} file */
export async function readWork(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const files = file.name.endsWith(".zip") ? unzipSync(bytes) : { [file.name]: bytes };
  /** @type {Map<string, Copy>} */
  const notebooks = new Map();
  let answers = null;
  for (const [path, data] of Object.entries(files)) {
    const name = nameOf(path);
    if (name.endsWith(".ipynb")) notebooks.set(name, JSON.parse(strFromU8(data)));
    else if (name.endsWith(".json")) answers = strFromU8(data);
  }
  if (!notebooks.size && answers === null) throw new Error(`${file.name} holds no notebooks and no answers.`);
  return { notebooks, answers };
}

// --------------------------------------------------------------------------------------------------------------------

/** @param {string} words @param {() => unknown} act */
function button(words, act) {
  const made = Object.assign(document.createElement("button"), { type: "button", textContent: words });
  made.addEventListener("click", act);
  return made;
}

export const STYLE = `
.nn-work { display: flex; flex-wrap: wrap; gap: 2px 18px; align-items: baseline; padding: 4px 12px;
  border-bottom: 1px solid var(--jp-border-color2); background: var(--jp-layout-color1);
  color: var(--jp-ui-font-color1); font: 13px/1.6 var(--jp-ui-font-family); }
.nn-work :is(a, button) { padding: 0; border: 0; background: none; color: var(--jp-content-link-color);
  font: inherit; text-decoration: none; cursor: pointer; }
.nn-work :is(a, button):is(:hover, :focus-visible) { text-decoration: underline; }
.nn-work [role="status"]:not(:empty) { flex-basis: 100%; }
.nn-work [role="status"] button { margin-left: 12px; font-weight: 600; }
`;

/** The line above one notebook. */
export class Work {
  /**
   * @param {App} app
   * @param {LessonPanel} panel
   * @param {NewLine} Widget
   * @param {string} base
   * @param {() => LessonPanel[]} open
   */
  constructor(app, panel, Widget, base, open) {
    this.app = app;
    this.panel = panel;
    this.base = base;
    this.open = open;
    this.trouble = "";
    this.contents = app.serviceManager.contents;
    this.line = document.createElement("div");
    this.line.className = "nn-work";
    this.said = document.createElement("span");
    this.said.setAttribute("role", "status");
    this.chosen = Object.assign(document.createElement("input"), {
      type: "file",
      accept: ".zip,.ipynb,.json",
      hidden: true,
    });
    this.chosen.addEventListener("change", () => this.attempt(() => this.choose()));
    this.line.append(
      button("Download this lesson", () => app.commands.execute("docmanager:download", {})),
      button("Save all my work", () => this.downloadAll()),
      button("Load saved work", () => this.chosen.click()),
      this.chosen,
      this.said,
    );
    const node = document.createElement("div");
    node.append(this.line);
    panel.contentHeader.addWidget(new Widget({ node }));
    // The header takes its height from this one number.
    new ResizeObserver(() => {
      node.style.minHeight = `${this.line.offsetHeight}px`;
      panel.contentHeader.fit();
    }).observe(this.line);
  }

  // Say one sentence, with buttons that answer it.
  /** @param {string} words @param {Record<string, () => unknown>} answers */
  say(words, answers = {}) {
    const buttons = Object.entries(answers).map(([label, act]) =>
      button(label, () => {
        this.said.replaceChildren();
        this.attempt(act);
      }),
    );
    this.said.replaceChildren(words, ...buttons);
  }

  // Do something, or say why it cannot be done.
  /** @param {() => unknown} act */
  async attempt(act) {
    try {
      await act();
    } catch (error) {
      this.say(error instanceof Error ? error.message : String(error));
    }
  }

  // Lead back to the page for reading, if there is one; offer the lesson if it was corrected.
  /** @param {Record<string, string>} lessons */
  async compare(lessons) {
    const name = nameOf(this.panel.context.path);
    if (!(name in lessons)) return;
    const began = this.panel.context.model.getMetadata(KEY)?.original;
    if (began && began !== lessons[name]) {
      this.say("This lesson was corrected after you began it.", {
        "Take the new lesson and keep mine": () => this.renew(),
      });
    }
    const page = new URL(`../${name.replace(".ipynb", ".html")}`, this.base).href;
    if (!(await fetch(page, { method: "HEAD" })).ok) return;
    const link = Object.assign(document.createElement("a"), { textContent: "Read this lesson", href: page });
    const follow = () => {
      link.href = `${page}#${this.section()}`;
    };
    for (const kind of ["pointerdown", "focus", "click"]) link.addEventListener(kind, follow);
    this.line.prepend(link);
  }

  /** The heading of the chosen cell, or of the last one above it that has one. */
  section() {
    const { activeCellIndex, widgets } = this.panel.content;
    const headings = widgets.slice(0, activeCellIndex + 1).flatMap(headingsOf);
    return headings.at(-1) ?? "";
  }

  /** @param {string} section */
  async goTo(section) {
    const found = this.panel.content.widgets.findIndex((cell) => headingsOf(cell).includes(section));
    if (found < 0) return;
    this.panel.content.activeCellIndex = found;
    await this.panel.content.scrollToItem(found, "start");
  }

  async saveOpen() {
    for (const { context } of this.open()) if (context.model.dirty) await context.save();
  }

  async renew() {
    const { path } = this.panel.context;
    await this.saveOpen();
    const aside = await keepAside(this.contents, path);
    await this.app.commands.execute("docmanager:open", { path });
    this.say(`This is your copy, kept as ${aside}; the new lesson has opened beside it.`);
  }

  async downloadAll() {
    await this.saveOpen();
    /** @type {Record<string, Uint8Array>} */
    const files = {};
    for (const path of await ownNotebooks(this.contents, this.base)) {
      files[path] = strToU8(written((await this.contents.get(path, { content: true })).content));
    }
    const cards = withAnswers(cardsOf(globalThis.normalizationLessons));
    const notebooks = Object.keys(files).length;
    const answers = cards.filter(({ record }) => record).length;
    const file = writeAnswers(cards);
    if (file) files[ANSWERS] = strToU8(file);
    if (!notebooks && !file) return this.say("Nothing is saved yet: change a lesson or answer a question first.");
    const href = URL.createObjectURL(new Blob([zipSync(files)], { type: "application/zip" }));
    const name = `normalization-work-${today()}.zip`;
    Object.assign(document.createElement("a"), { download: name, href }).click();
    setTimeout(() => URL.revokeObjectURL(href), 60000);
    this.say(`Saved to your browser's downloads: ${some(notebooks, "notebook")} and ${some(answers, "answer")}.`);
  }

  async choose() {
    const [file] = this.chosen.files ?? [];
    this.chosen.value = "";
    if (!file) return;
    const work = await readWork(file);
    if (!work.notebooks.size) return this.take(work, false);
    this.say("A notebook can run code in this page as soon as it opens. Whose work is it?", {
      "It is mine": () => this.take(work, true),
      "It is somebody else's": () => this.take(work, false),
    });
  }

  // Put loaded work in its place. A notebook that this browser keeps under the same name stays, under another one.
  /** @param {{ notebooks: Map<string, Copy>, answers: string | null }} work @param {boolean} trusted */
  async take({ notebooks, answers }, trusted) {
    await this.saveOpen();
    const own = new Set(await ownNotebooks(this.contents, this.base));
    const parts = [];
    for (const [name, notebook] of notebooks) {
      for (const { cell_type, metadata } of notebook.cells) {
        if (cell_type === "code") metadata.trusted = trusted;
      }
      const opened = this.open().filter(({ context }) => context.path === name);
      if (own.has(name)) {
        const mine = (await this.contents.get(name, { content: true })).content;
        if (written(mine) === written(notebook)) continue;
        parts.push(`yours stays as ${await keepAside(this.contents, name)}`);
      }
      await this.contents.save(name, { type: "notebook", format: "json", content: notebook });
      if (!own.has(name)) for (const { context } of opened) await context.revert();
    }
    if (answers !== null) {
      const { kept } = readAnswers(answers, withAnswers(cardsOf(globalThis.normalizationLessons)));
      for (const [{ place }, record] of kept) saveAnswer(place, JSON.stringify(record));
      parts.push(`${some(kept.length, "answer")} loaded`);
    }
    this.say(`${[`${some(notebooks.size, "notebook")} loaded`, ...parts].join("; ")}.`);
    const [first] = notebooks.keys();
    if (first) await this.app.commands.execute("docmanager:open", { path: first });
  }

  /** Python runs: what was said of its trouble no longer holds. */
  started() {
    if (this.trouble && this.said.textContent?.startsWith(this.trouble)) this.said.replaceChildren();
  }

  /** @param {string} words */
  stopped(words) {
    this.trouble = words;
    this.say(words, { "Restart Python": () => this.panel.sessionContext.changeKernel({ name: "python" }) });
  }
}
