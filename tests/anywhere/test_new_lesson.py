"""What `make lesson` makes: recorded and put under the rules of a lesson, in a copy of the repository."""

import shutil
import sys

from conftest import ROOT


def test_a_new_lesson_has_every_part_and_is_green(tree, run):
    for name in ("README.md", "requirements.lock"):
        shutil.copy(ROOT / name, tree)
    files = [f"tests/test_{name}.py" for name in ("notebooks", "quiz", "teaching")]
    rules = ["-m", "pytest", *files, "-q", "-k", "77_new_words"]
    for command in (["tools/lesson.py", "77_new_words"], ["tools/record.py", "notebooks/77_new_words.ipynb"], rules):
        result = run(sys.executable, *command, cwd=tree)
        assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]
    row = "| 77 | [New words](notebooks/77_new_words.ipynb) | what is the question? |"
    assert row in (tree / "README.md").read_text(encoding="utf-8")
