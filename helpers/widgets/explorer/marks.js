// Draws one mark of one frame. `picture.py` draws the same marks with matplotlib: change both, a browser test compares
// them.

import { at, pixels } from "./frames.js";
import { group, node, tint } from "./svg.js";

const STRONGEST = 0.7; // opacity of the fullest cell, light enough for its number to be read
const TEXT = 14; // pixels, the size of all words
const CODES = ["grey", "blue", "orange", "teal", "grey"]; // fill of code 0 (not drawn), 1, 2, ...

/** @type {Record<string, (mark: Mark, position: number, places: Places, panel: PanelLayout) => SVGElement[]>} */
export const draw = {
  lines: (mark, position, places) => [drawPath(mark, placed(mark, position, places))],

  points: (mark, position, places) => drawDots(mark, placed(mark, position, places)),

  bars(mark, position, { x, y }, panel) {
    const [edges, heights] = [at(mark, "edges", position), at(mark, "height", position)];
    const base = y(panel.yscale === "log" ? panel.ylim[0] : Math.max(0, panel.ylim[0]));
    const gap = heights.length > 8 ? 1 : 4;
    return Array.from(heights, (value, k) => {
      const [left, right, top] = [x(edges[k]), x(edges[k + 1]), y(value)];
      const size = { width: Math.max(0, right - left - gap), height: Math.abs(base - top) };
      return node("rect", { x: left + gap / 2, y: Math.min(top, base), ...size, class: "bar", ...tint(mark.color) });
    });
  },

  arrows(mark, position, { x, y }) {
    const [xs, ys, dx, dy] = ["x", "y", "dx", "dy"].map((name) => at(mark, name, position));
    return Array.from(xs, (value, k) => arrow([x(value), y(ys[k])], [x(value + dx[k]), y(ys[k] + dy[k])], mark.color));
  },

  text(mark, position, places) {
    const words = mark.strings[at(mark, "string", position)[0]];
    const kind = `words middle${mark.bold ? " title" : ""}`;
    const look = { class: kind, "text-anchor": mark.align ?? "start", ...tint(mark.color) };
    return placed(mark, position, places).map(([x, y]) => node("text", { x, y, ...look }, words));
  },

  cells(mark, position, { x, y }, panel) {
    const [xs, ys, values, outline] = ["x", "y", "values", "outline"].map((name) => at(mark, name, position));
    const unit = panel.box[2] / panel.xlim[1];
    return Array.from(values, (value, k) => {
      const [left, top] = [x(xs[k]), y(ys[k])];
      /** @param {number} inset */
      const square = (inset) => {
        const side = unit - 2 * inset;
        return { x: left + inset, y: top + inset, width: side, height: side };
      };
      const { fill, opacity, words } = cell(value, mark);
      const made = node("g");
      made.append(node("rect", { ...square(1), class: "cell" }));
      if (opacity) made.append(node("rect", { ...square(1), class: "cell", "fill-opacity": opacity, ...tint(fill) }));
      if (outline[k]) made.append(node("rect", { ...square(2), class: "outline" }));
      const size = Math.min(TEXT, (1.5 * unit) / Math.max(2, words.length));
      const middle = { x: left + unit / 2, y: top + unit / 2, class: "middle", "text-anchor": "middle" };
      if (words) made.append(node("text", { ...middle, style: `font-size: ${size}px` }, words));
      return made;
    });
  },
};

// The points of a mark in pixels.
/** @param {Mark} mark @param {number} position @param {Places} places @returns {Pair[]} */
function placed(mark, position, { x, y }) {
  const ys = at(mark, "y", position);
  return Array.from(at(mark, "x", position), (value, k) => [x(value), y(ys[k])]);
}

/** @param {number[][]} points x and y in pixels, and more */
export const path = (points) => points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");

/** @param {MarkStyle} mark @param {number[][]} points */
export const drawPath = (mark, points) =>
  node("polyline", { points: path(points), class: `line${mark.dashed ? " dashed" : ""}`, ...tint(mark.color) });

/** @param {MarkStyle} mark @param {number[][]} points */
export function drawDots(mark, points) {
  const look = { r: (mark.size ?? 0) / 2, class: `dot${mark.hollow ? " hollow" : ""}`, ...tint(mark.color) };
  return points.map(([cx, cy]) => node("circle", { cx, cy, ...look }));
}

/** @param {number[]} from x and y in pixels @param {number[]} to @param {string} color */
export function arrow([x1, y1], [x2, y2], color) {
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
  const head = Math.min(10, length);
  /** @param {number} sign */
  const side = (sign) => `${x2 - head * ux + sign * 0.45 * head * uy},${y2 - head * uy - sign * 0.45 * head * ux}`;
  return group(
    tint(color),
    node("line", { x1, y1, x2: x2 - 0.8 * head * ux, y2: y2 - 0.8 * head * uy, class: "line arrow" }),
    node("polygon", { points: `${x2},${y2} ${side(1)} ${side(-1)}`, class: "tip" }),
  );
}

// Fill, opacity and words of one cell.
/** @param {number} value @param {MarkStyle} style */
function cell(value, { names, limit = 1, digits = null }) {
  if (names) return { fill: CODES[value], opacity: value ? STRONGEST : 0, words: names[value] };
  const plain = digits === null ? "" : Math.abs(value).toFixed(digits);
  const words = value < 0 && Number(plain) ? `−${plain}` : plain;
  return { fill: value > 0 ? "blue" : "orange", opacity: STRONGEST * Math.min(1, Math.abs(value) / limit), words };
}

// The label of a line, dot or arrow, beside its tip where Python found room for it.
/** @param {Mark} mark @param {number} position @param {Places} places @param {number} layout */
export function drawLabel(mark, position, { x, y }, layout) {
  /** @param {string} name */
  const last = (name) => (name in mark.arrays ? (at(mark, name, position).at(-1) ?? 0) : 0);
  const [dx, dy] = at(mark, `label_${layout}`, position);
  const [px, py] = [x(last("x") + last("dx")), y(last("y") + last("dy"))];
  return writeLabel(mark, px + dx, py + dy, dx < 0 ? "end" : "start");
}

/** @param {MarkStyle} mark @param {number} x @param {number} y @param {string} anchor */
export function writeLabel(mark, x, y, anchor) {
  return node("text", { x, y, "text-anchor": anchor, class: "words middle label", ...tint(mark.color) }, mark.label);
}

/** @param {PanelLayout} panel its grid, the numbers and the names of its axes */
export function drawAxes(panel) {
  const made = node("g");
  const [left, top, width, height] = panel.box;
  const { x, y } = pixels(panel);
  const bottom = top + height;
  /** @param {number} x1 @param {number} y1 @param {number} x2 @param {number} y2 @param {string} kind */
  const line = (x1, y1, x2, y2, kind) => made.append(node("line", { x1, y1, x2, y2, class: kind }));
  /** @param {string} words @param {Record<string, string | number>} attributes */
  const write = (words, attributes) => made.append(node("text", attributes, words));
  if (panel.title) write(panel.title, { x: left, y: top - 11, class: "title" });
  if (panel.bare || panel.space) return made;
  for (const [value, label] of panel.xticks) {
    line(x(value), top, x(value), bottom, "grid");
    write(label, { x: x(value), y: bottom + 19, class: "tick", "text-anchor": "middle" });
  }
  for (const [value, label] of panel.yticks) {
    line(left, y(value), left + width, y(value), "grid");
    write(label, { x: left - 6, y: y(value), class: "tick middle", "text-anchor": "end" });
  }
  if (panel.zero) line(left, y(0), left + width, y(0), "zero");
  write(panel.xlabel, { x: left + width / 2, y: bottom + 40, "text-anchor": "middle" });
  if (panel.ylabel) {
    const middle = { x: panel.ends[0] + 12, y: top + height / 2 };
    const turned = { transform: `rotate(-90 ${middle.x} ${middle.y})` };
    write(panel.ylabel, { ...middle, ...turned, class: "middle", "text-anchor": "middle" });
  }
  return made;
}
