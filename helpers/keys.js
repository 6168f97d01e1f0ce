// Which keys a focused control keeps: all but those that run a cell, leave it, or come with Ctrl, Alt or Cmd.
// JupyterLab ignores a key if the focused element has the attribute. The window hears a key before JupyterLab does, so
// the attribute can be right for each key. Letters are kept too: JupyterLab would take "x" on a slider for "cut this
// cell". Each kind of widget brings this listener; the second one changes nothing.
function shareKeys(event) {
  const widget = event.target.closest?.(".explorer, .quiz, .practice, .filter-table");
  if (!widget) return;
  const { key, shiftKey, ctrlKey, altKey, metaKey } = event;
  const shared = key === "Escape" || (key === "Enter" && shiftKey) || ctrlKey || altKey || metaKey;
  event.target.toggleAttribute("data-lm-suppress-shortcuts", !shared);
  // JupyterLab is in command mode already, but its keys need the focus on a cell.
  if (key === "Escape") widget.closest(".jp-Cell")?.focus();
}
window.addEventListener("keydown", shareKeys, true);
