"""`make check` runs the tests of its lesson, and no other's."""

import subprocess
import sys

from tests.shared import LESSONS, ROOT
from tools.author import check


def test_rules_questions_and_exercises_are_run():
    (lesson,) = [path for path in LESSONS if path.stem == "08_power_iteration"]
    tests, environment = check.tests_of(lesson)
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-qq", "-p", "no:cacheprovider", *tests]
    listed = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120).stdout
    counts = dict(line.split(": ") for line in listed.splitlines() if ": " in line)
    assert int(counts["tests/lessons/test_notebooks.py"]) > 25, listed
    assert int(counts["tests/helpers/test_exercises.py"]) > 10, listed
    assert int(counts["tests/helpers/test_quiz.py"]) >= 4, listed
    assert int(counts["tests/tools/test_teaching.py"]) >= 5, listed


def test_only_chosen_values_of_many_are_tried():
    code = """
from pathlib import Path
from tests.shared import for_each
seen = []
values = [Path("04_a.ipynb"), Path("05_b.ipynb"), 3]
one = for_each("value", values)(lambda value: seen.append(value))
two = for_each(("lesson", "only"), [("05_b", None), ("04_a", "key")])(lambda lesson, only: seen.append(lesson))
neither = for_each("value", [1, 2])(lambda value: seen.append(value))
for test in (one, two, neither):
    test()
print(seen, [hasattr(test, "of_this_lesson") for test in (one, two, neither)])
"""
    command = [sys.executable, "-c", code]
    environment = check.tests_of(LESSONS[0])[1] | {"ONLY": "05_b my_b"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout == "[PosixPath('05_b.ipynb'), '05_b', 1, 2] [True, True, False]\n".replace(
        "PosixPath", type(ROOT).__name__
    ), done.stderr
