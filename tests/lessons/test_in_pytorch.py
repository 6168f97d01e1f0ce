"""The boxes "In PyTorch" and the cells for PyTorch print what they say (`make test-everything`; needs torch).

A box is a Markdown cell that begins with **In PyTorch.** and holds one block of Python. The boxes of a lesson share
their names, in order. What a line prints stands behind it: `print(x.shape)  # torch.Size([2, 3])`.
"""

import re
import subprocess
import sys

import pytest

from tests.shared import ROOT, every_lesson, printed, read
from tools.author.record import FOR_TORCH
from tools.lessons import tags_of

BOX = re.compile(r"\*\*In PyTorch\.\*\*.*?```python\n(.*?)```", re.DOTALL)
PRINTED = re.compile(r"^ *print\(.*\)  # (.+)$", re.MULTILINE)


def boxes_of(lesson):
    return [found[1] for cell in read(lesson).cells if (found := BOX.match(cell.source))]


@every_lesson
def test_a_box_prints_what_it_says(lesson, capsys):
    torch = pytest.importorskip("torch")
    names = {}
    for box in boxes_of(lesson):
        torch.manual_seed(0)
        exec(box, names)  # noqa: S102
        assert capsys.readouterr().out.splitlines() == PRINTED.findall(box), box


@every_lesson
def test_a_cell_for_pytorch_prints_what_is_stored(lesson):
    """In a process of its own: other tests fork, which a process that has trained in PyTorch cannot."""
    pytest.importorskip("torch")
    for cell in read(lesson).cells:
        if FOR_TORCH in tags_of(cell):
            run = subprocess.run([sys.executable, "-c", cell.source], cwd=ROOT, capture_output=True, text=True)
            assert run.stdout == printed(cell), cell.id + run.stderr
