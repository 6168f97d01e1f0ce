"""What `make lesson` makes: recorded and put under the rules of a lesson, in a copy of the repository."""

import shutil
import sys

from tests.robustness.conftest import ROOT


def test_a_new_lesson_is_complete_and_green(tree, run):
    for name in ("README.md", "requirements.lock"):
        shutil.copy(ROOT / name, tree)
    files = [
        f"tests/{name}.py"
        for name in ("lessons/test_notebooks", "helpers/test_quiz", "tools/test_teaching", "tools/test_stale")
    ]
    also = "test_stored_questions or test_the_map_in_start_here"
    rules = ["-m", "pytest", *files, "-q", "-k", f"of_this_lesson or {also}"]
    for command in (
        ["-m", "tools.author.new_lesson", "77_new_words"],
        rules,
    ):
        result = run(sys.executable, *command, cwd=tree, ONLY="77_new_words")
        assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]
    assert "| [77 New words](77_new_words.ipynb) | what is the question? | 01 | 15 |" in (
        tree / "notebooks" / "00_start_here.ipynb"
    ).read_text(encoding="utf-8")
    row = "| 77 | [New words](notebooks/77_new_words.ipynb) | what is the question? |"
    assert row in (tree / "README.md").read_text(encoding="utf-8")
