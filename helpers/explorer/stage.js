// Draws the frame that an Explorer's controls point at. Python computed every frame, the layout for several widths and
// the places of the labels; here numbers only become pixels. `picture.py` draws the same marks with matplotlib: change
// both, a browser test compares them.

const SVG = "http://www.w3.org/2000/svg";
const STRONGEST = 0.7; // opacity of the fullest cell, light enough for its number to be read
const TEXT = 14; // pixels, the size of all words

// Without https randomUUID does not exist; a page served over the network may lack it.
function uniqueId() {
  return crypto.randomUUID?.() ?? Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(36)).join("-");
}

function setAll(element, attributes) {
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
}

function node(name, attributes = {}, words = "") {
  const element = document.createElementNS(SVG, name);
  setAll(element, attributes);
  if (words) element.textContent = words; // never interpreted as HTML
  return element;
}

function numbers(view, dtype) {
  const bytes = view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength);
  if (dtype === "|u1") return new Uint8Array(bytes);
  return dtype === "<u2" ? new Uint16Array(bytes) : new Float32Array(bytes);
}

// Every mark of the spec with its arrays: the different rows of numbers, and which row each slider position shows.
function readMarks(model) {
  const blocks = model.get("data");
  let next = 0;
  return model.get("spec").marks.map((mark) => {
    const arrays = {};
    for (const { name, size, dtype, row_dtype } of mark.arrays) {
      arrays[name] = { rows: numbers(blocks[next++], dtype), rowOf: numbers(blocks[next++], row_dtype), size };
    }
    return { ...mark, arrays };
  });
}

function at(mark, name, position) {
  const { rows, rowOf, size } = mark.arrays[name];
  const row = rowOf[position];
  return rows.subarray(row * size, (row + 1) * size);
}

function fraction(value, [low, high], scale) {
  if (scale === "log") [value, low, high] = [Math.log10(value), Math.log10(low), Math.log10(high)];
  return (value - low) / (high - low);
}

function pixels(panel) {
  const [left, top, width, height] = panel.box;
  const up = (y) => fraction(y, panel.ylim, panel.yscale);
  return {
    x: (x) => left + width * fraction(x, panel.xlim, panel.xscale),
    y: (y) => top + height * (panel.bare ? up(y) : 1 - up(y)),
  };
}

function drawAxes(panel) {
  const group = node("g");
  const [left, top, width, height] = panel.box;
  const { x, y } = pixels(panel);
  const bottom = top + height;
  const line = (x1, y1, x2, y2, kind) => group.append(node("line", { x1, y1, x2, y2, class: kind }));
  const write = (words, attributes) => group.append(node("text", attributes, words));
  if (panel.title) write(panel.title, { x: left, y: top - 11, class: "title" });
  if (panel.bare) return group;
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
    const [cx, cy] = [panel.ends[0] + 12, top + height / 2];
    write(panel.ylabel, { x: cx, y: cy, class: "middle", "text-anchor": "middle", transform: `rotate(-90 ${cx} ${cy})` });
  }
  return group;
}

const draw = {
  lines(mark, position, { x, y }) {
    const [xs, ys] = [at(mark, "x", position), at(mark, "y", position)];
    const places = Array.from(xs, (value, k) => `${x(value).toFixed(1)},${y(ys[k]).toFixed(1)}`).join(" ");
    return [node("polyline", { points: places, class: `line ${mark.color}${mark.dashed ? " dashed" : ""}` })];
  },

  points(mark, position, { x, y }) {
    const ys = at(mark, "y", position);
    const kind = `dot ${mark.color}${mark.hollow ? " hollow" : ""}`;
    return Array.from(at(mark, "x", position), (value, k) =>
      node("circle", { cx: x(value), cy: y(ys[k]), r: mark.size / 2, class: kind }),
    );
  },

  bars(mark, position, { x, y }, panel) {
    const [edges, heights] = [at(mark, "edges", position), at(mark, "height", position)];
    const base = y(panel.yscale === "log" ? panel.ylim[0] : Math.max(0, panel.ylim[0]));
    const gap = heights.length > 8 ? 1 : 4;
    return Array.from(heights, (value, k) => {
      const [left, right, top] = [x(edges[k]), x(edges[k + 1]), y(value)];
      return node("rect", {
        x: left + gap / 2,
        width: Math.max(0, right - left - gap),
        y: Math.min(top, base),
        height: Math.abs(base - top),
        class: `bar ${mark.color}`,
      });
    });
  },

  arrows(mark, position, { x, y }) {
    const [xs, ys, dx, dy] = ["x", "y", "dx", "dy"].map((name) => at(mark, name, position));
    return Array.from(xs, (value, k) => {
      const [x1, y1, x2, y2] = [x(value), y(ys[k]), x(value + dx[k]), y(ys[k] + dy[k])];
      const length = Math.hypot(x2 - x1, y2 - y1) || 1;
      const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
      const head = Math.min(10, length);
      const side = (sign) => `${x2 - head * ux + sign * 0.45 * head * uy},${y2 - head * uy - sign * 0.45 * head * ux}`;
      const group = node("g");
      group.append(
        node("line", { x1, y1, x2: x2 - 0.8 * head * ux, y2: y2 - 0.8 * head * uy, class: `line arrow ${mark.color}` }),
        node("polygon", { points: `${x2},${y2} ${side(1)} ${side(-1)}`, class: `bar tip ${mark.color}` }),
      );
      return group;
    });
  },

  text(mark, position, { x, y }) {
    const words = mark.strings[at(mark, "string", position)[0]];
    const ys = at(mark, "y", position);
    const kind = `words middle ${mark.color}${mark.bold ? " title" : ""}`;
    return Array.from(at(mark, "x", position), (value, k) =>
      node("text", { x: x(value), y: y(ys[k]), "text-anchor": mark.align, class: kind }, words),
    );
  },

  cells(mark, position, { x, y }, panel) {
    const [xs, ys, values, outline] = ["x", "y", "values", "outline"].map((name) => at(mark, name, position));
    const unit = panel.box[2] / panel.xlim[1];
    return Array.from(values, (value, k) => {
      const [left, top] = [x(xs[k]), y(ys[k])];
      const square = (inset) => ({ x: left + inset, y: top + inset, width: unit - 2 * inset, height: unit - 2 * inset });
      const { fill, opacity, words } = cell(value, mark);
      const group = node("g");
      group.append(node("rect", { ...square(1), class: "cell" }));
      if (opacity) group.append(node("rect", { ...square(1), class: `cell ${fill}`, "fill-opacity": opacity }));
      if (outline[k]) group.append(node("rect", { ...square(2), class: "outline" }));
      const size = Math.min(TEXT, (1.5 * unit) / Math.max(2, words.length));
      const middle = { x: left + unit / 2, y: top + unit / 2, class: "middle", "text-anchor": "middle" };
      if (words) group.append(node("text", { ...middle, style: `font-size: ${size}px` }, words));
      return group;
    });
  },
};

// Fill, opacity and words of one cell.
function cell(value, { names, limit, digits }) {
  if (names) return { fill: `code-${value}`, opacity: value ? STRONGEST : 0, words: names[value] };
  const plain = digits === null ? "" : Math.abs(value).toFixed(digits);
  const words = value < 0 && Number(plain) ? `−${plain}` : plain;
  return { fill: value > 0 ? "blue" : "orange", opacity: STRONGEST * Math.min(1, Math.abs(value) / limit), words };
}

// The point at which a mark's label stands, in pixels.
function tip(mark, position, { x, y }) {
  const last = (name) => (name in mark.arrays ? at(mark, name, position).at(-1) : 0);
  return [x(last("x") + last("dx")), y(last("y") + last("dy"))];
}

// The label of a line, dot or arrow, where Python found room for it.
function drawLabel(mark, position, places, layout) {
  const [px, py] = tip(mark, position, places);
  const [dx, dy] = at(mark, `label_${layout}`, position);
  const anchor = dx < 0 ? "end" : "start";
  const attributes = { x: px + dx, y: py + dy, "text-anchor": anchor, class: `words middle label ${mark.color}` };
  return node("text", attributes, mark.label);
}

// One mark as a group, so that what belongs together is found together.
function drawMark(mark, position, places, panel) {
  const group = node("g", { class: `mark ${mark.kind}` });
  group.append(...draw[mark.kind](mark, position, places, panel));
  return group;
}

// The layouts that Python made, the widest first.
function readLayouts(spec) {
  const others = spec.others.map((other) => ({
    ...other,
    panels: other.panels.map((panel, k) => ({ ...spec.panels[k], ...panel })),
  }));
  const layouts = [spec, ...others].map(({ width, height, panels }, number) => ({ width, height, panels, number }));
  return layouts.sort((a, b) => b.width - a.width);
}

// What ipywidgets leaves out: a slider's name stands in a label beside it; screen readers need the name and the value on
// the handle itself. False while the controls are not there yet: they may be drawn after the stage.
function nameControls(figure, spec, chosen) {
  const sliders = [...spec.names.keys()].filter((k) => spec.kinds[k] === "slider");
  const handles = figure.closest(".explorer")?.querySelectorAll(".noUi-handle") ?? [];
  handles.forEach((handle, k) => {
    handle.setAttribute("aria-label", spec.names[sliders[k]]);
    handle.setAttribute("aria-valuetext", spec.options[sliders[k]][chosen[sliders[k]]]);
  });
  return handles.length === sliders.length;
}

function render({ model, el }) {
  const spec = model.get("spec");
  const marks = readMarks(model);
  const layouts = readLayouts(spec);
  const captionOf = numbers(model.get("caption_of"), "<u2");

  const figure = document.createElement("figure");
  figure.className = "explorer-stage";
  const caption = document.createElement("figcaption");
  caption.className = "explorer-caption";
  caption.id = `explorer-caption-${uniqueId()}`;
  caption.setAttribute("aria-live", "polite");
  const picture = node("svg", { role: "img", "aria-labelledby": caption.id });
  picture.style.maxWidth = `${layouts[0].width}px`;
  figure.append(picture, caption);
  el.replaceChildren(figure);

  let layout, layers;
  function lay() {
    const fitting = layouts.find(({ width }) => width <= figure.clientWidth) ?? layouts.at(-1);
    if (fitting === layout) return false;
    layout = fitting;
    setAll(picture, { viewBox: `0 0 ${layout.width} ${layout.height}` });
    layers = layout.panels.map(() => node("g"));
    picture.replaceChildren(...layout.panels.flatMap((panel, k) => [drawAxes(panel), layers[k]]));
    return true;
  }

  const chosen = () => spec.options.map((_, k) => Number(model.get(`at_${k}`)));
  function update() {
    const position = chosen().reduce((sum, choice, k) => sum * spec.options[k].length + choice, 0);
    layout.panels.forEach((panel, number) => {
      const here = marks.filter((mark) => mark.panel === number);
      const places = pixels(panel);
      const drawn = here.map((mark) => drawMark(mark, position, places, panel));
      const labels = here.filter((mark) => mark.label);
      layers[number].replaceChildren(
        ...drawn,
        ...labels.map((mark) => drawLabel(mark, position, places, layout.number)),
      );
    });
    caption.textContent = model.get("captions")[captionOf[position]];
    nameControls(figure, spec, chosen());
  }

  // One drawing per screen refresh, however many controls changed.
  let waiting = 0;
  const later = () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(update);
  };
  for (const k of spec.options.keys()) model.on(`change:at_${k}`, later);
  lay();
  update();
  const resized = new ResizeObserver(() => figure.clientWidth && lay() && update());
  resized.observe(figure);
  let tries = 0;
  const naming = setInterval(() => {
    if ((figure.isConnected && nameControls(figure, spec, chosen())) || ++tries === 50) clearInterval(naming);
  }, 100);
  return () => {
    clearInterval(naming);
    cancelAnimationFrame(waiting);
    resized.disconnect();
    for (const k of spec.options.keys()) model.off(`change:at_${k}`, later);
  };
}

export default { render };
