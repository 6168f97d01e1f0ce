// All that a widget carries. Its code is in the model that `code` names, once for all widgets of its kind.
// A module runs once a page: `loaded` maps its source to it.
const loaded = (globalThis.normalizationNotebooks ??= new Map());

function load(source, css) {
  if (!loaded.has(source)) {
    document.head.append(Object.assign(document.createElement("style"), { textContent: css }));
    loaded.set(source, import(URL.createObjectURL(new Blob([source], { type: "text/javascript" }))));
  }
  return loaded.get(source);
}

async function render(view) {
  const id = view.model.get("code").slice("IPY_MODEL_".length);
  const code = await view.model.widget_manager.get_model(id).catch(() => null);
  if (code) return (await load(code.get("javascript"), code.get("css"))).default.render(view);
  view.el.textContent = "Not saved with the notebook: run this cell.";
}

export default { render };
