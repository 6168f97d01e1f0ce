// A pen. What is drawn goes when the slide changes.

const board = Object.assign(document.createElement("canvas"), { className: "board", ariaHidden: "true" });
const pen = board.getContext("2d");

function clear() {
  Object.assign(board, { width: innerWidth, height: innerHeight });
}

/** @param {PointerEvent} event */
function draw({ clientX: x, clientY: y, movementX, movementY, buttons }) {
  if (!pen || !buttons) return;
  Object.assign(pen, { strokeStyle: "#cc3311", lineWidth: 4, lineCap: "round" });
  pen.beginPath();
  pen.moveTo(x - movementX, y - movementY);
  pen.lineTo(x, y);
  pen.stroke();
}

export function togglePen() {
  document.body.classList.toggle("is-drawing");
  document.body.append(board);
  clear();
}

board.addEventListener("pointermove", draw);
Reveal.on("slidechanged", clear);
