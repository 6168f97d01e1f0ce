// Contrast of every word in explorers and quizzes with what is painted behind it (WCAG 2), worst first.
() => {
  const parse = (color) => {
    const [r, g, b, a = 1] = color.match(/[\d.]+/g).map(Number);
    return color === "transparent" ? [0, 0, 0, 0] : [r, g, b, a];
  };
  const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];
  const light = (color) =>
    color.slice(0, 3).reduce((sum, c, k) => {
      const part = c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4;
      return sum + part * [0.2126, 0.7152, 0.0722][k];
    }, 0);
  const contrast = (one, two) => {
    const [high, low] = [light(one), light(two)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
  const behind = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) {
      const color = parse(getComputedStyle(e).backgroundColor);
      layers.push(color);
      if (color[3] === 1) break;
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
  };
  const results = [];
  for (const element of document.querySelectorAll(".explorer-stage text, .explorer-caption, .quiz *, .explorer label, .explorer .widget-readout")) {
    const own = [...element.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.textContent.trim());
    const style = getComputedStyle(element);
    if (!own || element.disabled || style.visibility === "hidden" || !element.getClientRects().length) continue;
    let below = behind(element.closest("svg") ?? element);
    if (element.closest("svg")) {
      for (const rect of element.parentNode.querySelectorAll(":scope > rect.cell")) {
        const fill = getComputedStyle(rect);
        below = over([...parse(fill.fill).slice(0, 3), Number(fill.fillOpacity)], below);
      }
    }
    const ink = over(parse(element.closest("svg") ? style.fill : style.color), below);
    results.push({ words: element.textContent.trim().slice(0, 30), contrast: contrast(ink, below) });
  }
  return results.sort((a, b) => a.contrast - b.contrast);
}
