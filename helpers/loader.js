// All that a widget carries. Its code is in the model that `code` names, once for all widgets of its kind.
const loaded = (globalThis.normalizationNotebooks ??= new Map()); // source -> module, once a page

function load(source, css) {
  if (!loaded.has(source)) {
    const style = document.createElement("style");
    style.textContent = css;
    document.head.append(style);
    loaded.set(source, import(URL.createObjectURL(new Blob([source], { type: "text/javascript" }))));
  }
  return loaded.get(source);
}

async function render(view) {
  const id = view.model.get("code").slice("IPY_MODEL_".length);
  const code = await view.model.widget_manager.get_model(id).catch(() => null);
  if (code) return (await load(code.get("javascript"), code.get("css"))).default.render(view);
  view.el.textContent = "This was not saved with the notebook: run the cell again.";
}

export default { render };
