// Which keys a focused control keeps: all but those that run a cell, leave it, or come with Ctrl, Alt or Cmd.
//
// JupyterLab ignores a key if the focused element has the attribute. The window hears a key before JupyterLab does, so
// the attribute can be right for each key. Letters are kept too: JupyterLab would take "x" on a slider for "cut this
// cell". Each kind of widget brings this listener; the second one changes nothing.

/** @param {KeyboardEvent} event */
function shareKeys(event) {
  const target = event.target instanceof Element ? event.target : null;
  const widget = target?.closest(".explorer, .quiz, .practice, .filter-table");
  if (!target || !widget) return;
  const { key, shiftKey, ctrlKey, altKey, metaKey } = event;
  const shared = key === "Escape" || (key === "Enter" && shiftKey) || ctrlKey || altKey || metaKey;
  target.toggleAttribute("data-lm-suppress-shortcuts", !shared);
  // JupyterLab is in command mode already, but its keys need the focus on a cell.
  /** @type {HTMLElement | null} */
  const cell = widget.closest(".jp-Cell");
  if (key === "Escape") cell?.focus();
}

window.addEventListener("keydown", shareKeys, true);
