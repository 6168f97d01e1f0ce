// What Python sends of an explorer, unpacked: the marks with their arrays, the layouts, and the numbers of one frame.

/** @param {DataView} view @param {string} dtype @returns {Row} */
export function numbers(view, dtype) {
  const start = view.byteOffset;
  const bytes = /** @type {ArrayBuffer} */ (view.buffer.slice(start, start + view.byteLength));
  if (dtype === "|u1") return new Uint8Array(bytes);
  return dtype === "<u2" ? new Uint16Array(bytes) : new Float32Array(bytes);
}

// Every mark of the spec with its arrays: the different rows of numbers, and which row each slider position shows.
/** @param {Model} model @returns {Mark[]} */
export function readMarks(model) {
  /** @type {DataView[]} */
  const blocks = model.get("data");
  /** @type {Spec} */
  const spec = model.get("spec");
  let next = 0;
  return spec.marks.map((mark) => {
    /** @type {Mark["arrays"]} */
    const arrays = {};
    for (const { name, size, dtype, row_dtype } of mark.arrays) {
      arrays[name] = { rows: numbers(blocks[next++], dtype), rowOf: numbers(blocks[next++], row_dtype), size };
    }
    return { ...mark, arrays };
  });
}

// The numbers of one array in one frame.
/** @param {Mark} mark @param {string} name @param {number} position */
export function at(mark, name, position) {
  const { rows, rowOf, size } = mark.arrays[name];
  const row = rowOf[position];
  return rows.subarray(row * size, (row + 1) * size);
}

// The layouts that Python made, the widest first.
/** @param {Spec} spec @returns {Layout[]} */
export function readLayouts(spec) {
  const others = spec.others.map((other) => ({
    ...other,
    panels: other.panels.map((panel, k) => ({ ...spec.panels[k], ...panel })),
  }));
  const layouts = [spec, ...others].map(({ width, height, panels }, number) => ({ width, height, panels, number }));
  return layouts.sort((a, b) => b.width - a.width);
}

// The number of the frame that these choices show: which value of each control, the last control fastest.
/** @param {number[]} choices @param {number[]} sizes how many values each control has */
export const positionOf = (choices, sizes) => choices.reduce((sum, choice, k) => sum * sizes[k] + choice, 0);

/** @param {number} value @param {Pair} limits @param {Scale} scale */
function fraction(value, limits, scale) {
  const [v, low, high] = scale === "log" ? [value, ...limits].map(Math.log10) : [value, ...limits];
  return (v - low) / (high - low);
}

// How a panel places its numbers, in pixels of the picture.
/** @param {PanelLayout} panel @returns {Places} */
export function pixels(panel) {
  const [left, top, width, height] = panel.box;
  /** @param {number} y */
  const up = (y) => fraction(y, panel.ylim, panel.yscale);
  return {
    x: (x) => left + width * fraction(x, panel.xlim, panel.xscale),
    y: (y) => top + height * (panel.bare ? up(y) : 1 - up(y)),
  };
}
