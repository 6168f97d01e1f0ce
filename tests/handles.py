"""Whether every tabulated position of a handle can be reached by dragging, as the browser's own code finds it."""

import base64
import json
import shutil
import subprocess

import pytest

from tests.shared import ROOT

NODE = shutil.which("node")
with_node = pytest.mark.skipif(NODE is None, reason="Node is not installed")
EXPLORER = ROOT / "helpers" / "widgets" / "explorer"

SOURCE = f"""
import {{ pixels, readLayouts, readMarks }} from {(EXPLORER / "frames.js").as_uri()!r};
import {{ nearest, placeOf, placesOf, step }} from {(EXPLORER / "nearest.js").as_uri()!r};
import {{ readFileSync }} from "node:fs";

const bytes = (text) => new DataView(Uint8Array.from(Buffer.from(text, "base64")).buffer);
const {{ stages, keys }} = JSON.parse(readFileSync(0, "utf8"));
const found = [];
for (const {{ spec, data }} of stages) {{
  const model = {{ get: (name) => (name === "spec" ? spec : data.map(bytes)) }};
  const sizes = spec.options.map((options) => options.length);
  const all = sizes.reduce((some, size) => some.flatMap((c) => [...Array(size).keys()].map((k) => [...c, k])), [[]]);
  for (const mark of readMarks(model).filter(({{ kind }}) => kind === "handle")) {{
    for (const layout of readLayouts(spec)) {{
      const places = pixels(layout.panels[mark.panel]);
      for (const choices of all) found.push(...what_is_found(mark, choices, sizes, places, layout));
    }}
  }}
}}
console.log(JSON.stringify(found));
"""

# Positions at whose place a handle lands on another one, wherever it comes from.
UNREACHED = """
function what_is_found(mark, choices, sizes, places, layout) {
  const { x, y } = placeOf(mark, choices, sizes, places);
  const reached = placesOf(mark, choices, sizes, places);
  const ends = [reached[0], reached[reached.length - 1]].map((from) => nearest(reached, from, x, y).choices);
  return ends.filter((to) => String(to) !== String(choices)).map((to) => [layout.width, choices, to]);
}
"""

# Where each key leads from each position, in the first layout.
STEPS = """
function what_is_found(mark, choices, sizes, places, layout) {
  const leads = (key) => [key, step(key, mark, choices, sizes, places)?.choices ?? null];
  return layout.number ? [] : [[choices, Object.fromEntries(keys.map(leads))]];
}
"""


def run(part, stages, keys=()):
    """What a part finds. stages: (spec, blocks of bytes) of explorers."""
    packed = [{"spec": spec, "data": [base64.b64encode(bytes(b)).decode() for b in data]} for spec, data in stages]
    command = [NODE, "--input-type=module", "--eval", SOURCE + part]
    sent = json.dumps({"stages": packed, "keys": list(keys)})
    done = subprocess.run(command, input=sent, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
