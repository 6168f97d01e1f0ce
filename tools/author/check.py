"""All that one lesson has to keep, in half a minute: `make check LESSON=05`.

It runs the lesson in strict mode and stores what has changed, records what else shows its questions, writes the
lists of lessons in README and lesson 00, and runs the rules, questions, exercises and pictures of this lesson and
ruff.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from tools.author import new_lesson, record
from tools.lessons import LessonError, original_of

ROOT = Path(__file__).resolve().parents[2]
# Each is run for this lesson only; what concerns all lessons at once is named in ALSO.
TESTS = [
    "tests/lessons",
    "tests/helpers/test_quiz.py",
    "tests/helpers/test_exercises.py",
    "tests/tools/test_teaching.py",
]
MOST_LINES = 10
ALSO = ["map_in_start_here", "stored_questions", "test_claims"]


def changed_cells(before, after):
    """One line for every cell that now puts out another text, pixels aside."""
    was = {cell.id: texts(cell) for cell in before.cells if cell.cell_type == "code"}
    for index, cell in enumerate(after.cells):
        if cell.cell_type == "code" and was.get(cell.id) != texts(cell):
            yield f"    {record.where(after, 'the lesson', index)}"


def texts(cell):
    """What a reader reads of the outputs."""
    found = []
    for output in cell.outputs:
        data = output.get("data", {})
        found.append(output.get("text") or {mime: data[mime] for mime in data if mime.startswith("text/")})
    return found


def names_in(lesson):
    """The lesson's name and those of its exercises, by which the tests of this lesson are found."""
    nb = record.read_notebook(lesson)
    sources = "\n".join(cell.source for cell in nb.cells if cell.cell_type == "code")
    return [lesson.stem, *dict.fromkeys(re.findall(r'check_exercise\(\s*"(\w+)"', sources))]


def tests_of(lesson):
    """What pytest has to be told to run the tests of this lesson: its arguments and the environment."""
    names = names_in(lesson)
    wanted = " or ".join(["of_this_lesson", *names, *ALSO])
    return [*TESTS, "-k", wanted], {**os.environ, "ONLY": " ".join(names)}


def check(lesson):
    """Whether everything holds; prints what it does."""
    before = record.read_notebook(lesson)
    if record.record_all([lesson]):
        return False
    changed = list(changed_cells(before, record.read_notebook(lesson)))
    if changed:
        print("Cells whose output changed:")
        print("\n".join(changed[:MOST_LINES]))
    if len(changed) > MOST_LINES:
        print(f"    and {len(changed) - MOST_LINES} more")
    if record.record_others():
        return False
    new_lesson.write_lists()
    tests, environment = tests_of(lesson)
    folder = ROOT / "helpers" / "lessons" / lesson.stem
    own = [str(lesson), str(folder)]
    commands = [
        [*("-m", "ruff", "check", "--quiet"), *own],
        [*("-m", "ruff", "format", "--check", "--quiet"), *own],
        ["-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", "-p", "no:xdist", *tests],
    ]
    left = [path for path in [lesson, *folder.glob("*.*")] if "TODO:" in path.read_text(encoding="utf-8")]
    for path in left:
        print(f"{path.relative_to(ROOT)} still says TODO: replace each one.")
    # All of them run, so that one call says everything.
    ended = [subprocess.run([sys.executable, *command], cwd=ROOT, env=environment) for command in commands]
    return not left and all(process.returncode == 0 for process in ended)


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Test all rules for one lesson, in half a minute.")
    parser.add_argument("lesson", help="the lesson's number, as in 05")
    start = time.perf_counter()
    try:
        lesson = original_of(parser.parse_args(arguments).lesson)
    except LessonError as reason:
        print(reason, file=sys.stderr)
        return 2
    good = check(lesson)
    seconds = time.perf_counter() - start
    print(f"{lesson.stem}: {'everything passed' if good else 'something above failed'} ({seconds:.0f} s).")
    if good:
        print("Look at `git diff`, commit, and run `make test` before a pull request.")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
