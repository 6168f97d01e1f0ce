// Panels of three dimensions: the projection, its marks, and how the picture is turned. `layout.project` and
// `picture.py` do the same for the still picture.

import { at } from "./frames.js";
import { onDrag, onKeys } from "./hold.js";
import { arrow, drawDots, drawPath, path, writeLabel } from "./marks.js";
import { group, node, tint } from "./svg.js";

const MARGIN = 22; // pixels around the sphere in which everything is turned, for the names of the axes
const TURN = 0.5; // degrees for each pixel that the pointer moves
const STEP = 5; // degrees for each press of a key

/** @type {Record<string, Pair>} */
const WAYS = { ArrowLeft: [STEP, 0], ArrowRight: [-STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] };

/** @typedef {(point: Triple) => Triple} Project a point in space to its place in pixels and how near it is */

// Orthographic, seen from an azimuth and an elevation in degrees.
/** @param {PanelLayout} panel @param {Space} space @param {Pair} view @returns {Project} */
function projection({ box: [left, top, width, height] }, { center, radius }, view) {
  const [a, e] = view.map((angle) => (angle * Math.PI) / 180);
  const unit = (Math.min(width, height) / 2 - MARGIN) / radius;
  const [ca, sa, ce, se] = [Math.cos(a), Math.sin(a), Math.cos(e), Math.sin(e)];
  return (point) => {
    const [x, y, z] = point.map((value, k) => value - center[k]);
    return [
      left + width / 2 + unit * (ca * y - sa * x),
      top + height / 2 - unit * (ce * z - se * (ca * x + sa * y)),
      ce * (ca * x + sa * y) + se * z,
    ];
  };
}

// Points of a mark in pixels, with their depth.
/** @param {Mark} mark @param {number} position @param {Project} project */
function projected(mark, position, project) {
  const [x, y, z] = ["x", "y", "z"].map((name) => at(mark, name, position));
  return Array.from(x, (value, k) => project([value, y[k], z[k]]));
}

/** @type {Record<string, (mark: Mark, points: Triple[]) => SVGElement[]>} */
const draw3 = {
  lines3: (mark, points) => [mark.arrow ? arrow(points[0], points[1], mark.color) : drawPath(mark, points)],

  points3(mark, points) {
    const ordered = points.toSorted((a, b) => a[2] - b[2]); // the near ones last
    return drawDots(mark, ordered);
  },

  surface3: ({ color }, [a, b, c, d]) => [
    node("polygon", { points: path([a, b, d, c]), class: "face", ...tint(color) }),
  ],
};

// The axes and all marks of one frame, as seen from one side.
/** @param {PanelLayout} panel @param {Space} space @param {Mark[]} marks @param {number} position @param {Pair} view */
export function drawSpace(panel, space, marks, position, view) {
  const project = projection(panel, space, view);
  const axes = space.axes.flatMap(({ name, from, to }) => {
    const [[x1, y1], [x2, y2]] = [project(from), project(to)];
    const length = Math.hypot(x2 - x1, y2 - y1) || 1;
    const [x, y] = [x2 + (12 * (x2 - x1)) / length, y2 + (12 * (y2 - y1)) / length];
    return [
      node("line", { x1, y1, x2, y2, class: "axis" }),
      node("text", { x, y, class: "tick middle", "text-anchor": "middle" }, name),
    ];
  });
  const drawn = marks.map((mark) =>
    group({ class: `mark ${mark.kind}` }, ...draw3[mark.kind](mark, projected(mark, position, project))),
  );
  const labels = marks
    .filter((mark) => mark.label)
    .map((mark) => {
      const [[x, y]] = projected(mark, position, project).slice(-1);
      return writeLabel(mark, x + 10, y, "start");
    });
  return [...axes, ...drawn, ...labels];
}

// What is dragged, or has the focus for keys, to turn a panel. `turned` is called with the new view.
/** @param {PanelLayout} panel @param {Space} space @param {() => Pair} view @param {(view: Pair) => void} turned */
export function makeTurn({ box: [x, y, width, height], title }, space, view, turned) {
  const element = node("rect", { x, y, width, height, class: "turn", role: "application", tabindex: 0 });
  element.setAttribute("aria-label", `${title || "Picture"}: turn it with the arrow keys, Home turns it back`);
  const hint = node(
    "text",
    { x: x + width - 4, y: y + height - 2, class: "hint turning", "text-anchor": "end", "aria-hidden": "true" },
    "drag to turn",
  );
  /** @param {number} right @param {number} up */
  const turn = (right, up) => {
    document.body.classList.add("nn-turned");
    const [azimuth, elevation] = view();
    turned([(azimuth + right) % 360, Math.max(-90, Math.min(90, elevation + up))]);
  };
  /** @type {Pair} */
  let last = [0, 0];
  /** @param {PointerEvent} event */
  const begin = ({ clientX, clientY }) => {
    last = [clientX, clientY];
  };
  onDrag(element, begin, (event) => {
    turn(-TURN * (event.clientX - last[0]), TURN * (event.clientY - last[1]));
    begin(event);
  });
  onKeys(element, ["Home", ...Object.keys(WAYS)], (key) => (key === "Home" ? turned(space.view) : turn(...WAYS[key])));
  return [element, hint];
}
