// What can be dragged, with mouse, touch and pen, or moved by keys.

/** @param {SVGElement} element @param {(event: PointerEvent) => void} begin @param {(event: PointerEvent) => void} move */
export function onDrag(element, begin, move) {
  element.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    begin(event);
    element.setPointerCapture(event.pointerId);
    element.focus({ preventScroll: true });
    event.preventDefault();
  });
  element.addEventListener("pointermove", (event) => {
    if (element.hasPointerCapture(event.pointerId)) move(event);
  });
  // The page may have taken the focus meanwhile.
  element.addEventListener("pointerup", () => element.focus({ preventScroll: true }));
}

/** @param {SVGElement} element @param {string[]} keys @param {(key: string) => void} act */
export function onKeys(element, keys, act) {
  element.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey || !keys.includes(event.key)) return;
    event.preventDefault();
    act(event.key);
  });
}
