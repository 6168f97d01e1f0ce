"""What `check_between` measured may differ from the stored output; its name, its bounds and all else may not."""

import os
import re
import subprocess
import sys

import nbformat
import pytest

from helpers import check_between
from tests.shared import ROOT, everything, without_measured

# What is stored -> the code that now prints something else, and whether nbval should accept that.
CELLS = [
    ("PASS - a: 0.71, between 0.45 and 1", "check_between('a', 0.75, 0.45, 1)", True),
    ("PASS - c: both values are at least 2, from 2.1 to 7", "check_between('c', [3, 4], 2, np.inf)", True),
    ("PASS - a wrong bound: 0.75, between 0.5 and 1", "check_between('a wrong bound', 0.75, 0.45, 1)", False),
    ("PASS - a wrong name: 0.75, between 0.45 and 1", "check_between('another name', 0.75, 0.45, 1)", False),
    ("PASS - no band: 0.71", "check_close('no band', 0.75, 0.75)", False),
    (
        "  PASS - in a group: 0.71, between 0 and 1",
        "with check_all('all'):\n    check_between('in a group', 0.75, 0, 1)",
        True,
    ),
    ("The mean is: 0.71, between 0.45 and 1", "print('The mean is: 0.75, between 0.45 and 1')", False),
]


@everything  # starts a kernel
def test_nbval_accepts_other_digits_but_no_other_name(tmp_path):
    setup = "import numpy as np\nfrom helpers import check_all, check_between, check_close"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(setup, execution_count=1)])
    for text, source, _ in CELLS:
        output = nbformat.v4.new_output("stream", text=text + "\n")
        if text.startswith(" "):
            shown = (
                f"<details><summary><code>PASS - all: 1 check</code></summary>\n<pre>\n{text.strip()}\n</pre></details>"
            )
            data = {"text/plain": f"PASS - all: 1 check\n{text}", "text/html": shown}
            output = nbformat.v4.new_output("display_data", data)
        notebook.cells.append(nbformat.v4.new_code_cell(source, execution_count=1, outputs=[output]))
    nbformat.write(notebook, tmp_path / "measured.ipynb")
    command = [sys.executable, "-m", "pytest", "--rootdir", ROOT, "-c", ROOT / "pyproject.toml", "-rA"]
    command += ["-p", "no:cacheprovider"]
    bare = {"PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": "", "HELPERS_STRICT": "1"}
    result = subprocess.run(
        [*command, tmp_path / "measured.ipynb"], cwd=ROOT, env=os.environ | bare, capture_output=True, text=True
    )
    passed = [bool(re.search(rf"^PASSED .*::Cell {k}$", result.stdout, re.MULTILINE)) for k in range(1, len(CELLS) + 1)]
    assert passed == [expected for *_, expected in CELLS], result.stdout


@pytest.mark.parametrize(
    "name", ["a", "a name: with a colon, between 1 and 2", "a name that is so long that the line " * 3]
)
def test_a_line_is_compared_without_its_measured_digits(name, capsys):
    check_between(name, 0.123, 0, 1)
    check_between(name, [0.1, 0.2], 0, float("inf"))
    first, second = without_measured(capsys.readouterr().out).splitlines()
    assert first == f"PASS - {' '.join(name.split())}: between 0 and 1"
    assert second == f"PASS - {' '.join(name.split())}: both values are at least 0"
