"""The bundles that browsers load are made of the modules as they are."""

import hashlib
import re

import pytest

from helpers.widgets.widget_code import read_bundle
from tests.shared import ROOT

BUNDLES = sorted(
    [
        *(ROOT / "helpers" / "widgets" / "bundle").iterdir(),
        ROOT / "tools" / "publish" / "web" / "static" / "host.js",
        *(ROOT / "tools" / "publish" / "web" / "bundle").iterdir(),
    ]
)


def sources_of(path):
    """(fingerprint, names of the sources) from a bundle's first line."""
    first, _ = path.read_text(encoding="utf-8").split("\n", 1)
    found = re.fullmatch(r"/\* make bundle: ([0-9a-f]{16}) (.+) \*/", first)
    return found[1], found[2].split()


def imported(path):
    """The modules and style sheets that a source imports."""
    names = re.findall(r"""(?:^import|^export|^@import|\bfrom)\s+["'](\.[^"']+)["']""", path.read_text("utf-8"), re.M)
    return {(path.parent / name).resolve() for name in names}


@pytest.mark.parametrize("path", BUNDLES, ids=lambda path: path.name)
def test_a_bundle_is_built_from_all_its_present_sources(path):
    fingerprint, names = sources_of(path)
    texts = [f"{name}\0{(ROOT / name).read_text(encoding='utf-8')}\0" for name in names]
    assert hashlib.sha256("".join(texts).encode()).hexdigest()[:16] == fingerprint, f"{path.name} is old: `make bundle`"
    sources = {(ROOT / name).resolve() for name in names}
    assert set().union(*(imported(source) for source in sources if source.suffix != ".mjs")) <= sources


def test_every_module_is_part_of_a_bundle_whose_first_line_is_not_sent():
    assert "make bundle" not in read_bundle("stage.js")
    bundled = {name for path in BUNDLES for name in sources_of(path)[1]}
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "helpers").rglob("*.js")}
    assert {name for name in modules if "/bundle/" not in name} <= bundled
