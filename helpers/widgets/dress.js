// The styles of a kind of widget: its own, which its code model holds, and those of all kinds, in the `base` of that.

import { unpack } from "./unpack.js";

/** @param {Model} code */
async function dress(code) {
  const base = await code.widget_manager.get_model(code.get("base").slice("IPY_MODEL_".length)).catch(() => null);
  globalThis.nnLoaded ??= new Map();
  const known = globalThis.nnLoaded;
  for (const packed of [base?.get("css"), code.get("css")]) {
    if (packed && !known.has(packed)) known.set(packed, addStyle(packed));
    await known.get(packed);
  }
}

/** @param {string} packed */
async function addStyle(packed) {
  const style = document.createElement("style");
  document.head.append(style); // in its place before the text is there
  style.textContent = await unpack(packed).text();
}

// What a module exports: it draws a widget after its styles are there. Without `code` a page brings them itself.
/** @param {(view: View) => (() => void) | void} render */
export const widget = (render) => ({
  /** @param {View} view @param {Model} [code] */
  async render(view, code) {
    if (code) await dress(code);
    return render(view);
  },
});
