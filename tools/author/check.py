"""All that one lesson has to keep, in half a minute: `make check LESSON=05`.

It runs the lesson in strict mode and stores what has changed, brings the lists of lessons and questions in README, 00
and 16 up to date, and runs ruff and the rules, questions, exercises and pictures of this lesson.
"""

import argparse
import re
import subprocess
import sys
import time

from tools.author import lists, record
from tools.lessons import ROOT, LessonError, original_of

# Of these, the tests whose ids name the lesson or one of its exercises, and those that concern all lessons at once.
TESTS = ["tests/lessons", "tests/helpers/test_quiz.py", "tests/helpers/test_exercises.py", "tests/tools/test_lists.py"]
RULES = "tests/lessons/test_notebooks.py"  # of a lesson that cannot be recorded yet
ALSO = ["test_claims", "test_lists", "test_terms"]


def changed_cells(before, after):
    """A line for every cell that now puts out another text, pixels aside."""

    def texts(cell):
        outputs = cell.get("outputs", [])
        return [output.get("text") or output.get("data", {}).get("text/plain") for output in outputs]

    was = {cell.id: texts(cell) for cell in before.cells}
    changed = [k for k, cell in enumerate(after.cells) if was.get(cell.id, []) != texts(cell)]
    return [f"    {record.where(after, 'the lesson', index)}" for index in changed]


def tests_of(lesson):
    """What pytest has to be told to run the tests of this lesson."""
    sources = "\n".join(cell.source for cell in record.read_notebook(lesson).cells if cell.cell_type == "code")
    exercises = dict.fromkeys(re.findall(r'check_exercise\(\s*"(\w+)"', sources))
    return [*TESTS, "-k", " or ".join([lesson.stem, *exercises, *ALSO])]


def check(lesson):
    """Whether everything holds; prints what it does. All steps run, so that one call says everything."""
    before = record.read_notebook(lesson)
    recorded = not record.record_all([lesson])
    if changed := changed_cells(before, record.read_notebook(lesson)):
        print("Cells whose output changed:", *changed, sep="\n")
    if recorded:
        lists.main()
    own = [path for path in (lesson, ROOT / "helpers" / "lessons" / lesson.stem) if path.exists()]
    tests = tests_of(lesson) if recorded else [RULES, "-k", lesson.stem]
    commands = [
        ["ruff", "check", "--quiet", *own],
        ["ruff", "format", "--check", "--quiet", *own],
        ["pytest", "-q", "--tb=short", "-p", "no:cacheprovider", *tests],
    ]
    ended = [subprocess.run([sys.executable, "-m", *map(str, command)], cwd=ROOT) for command in commands]
    return recorded and all(process.returncode == 0 for process in ended)


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
