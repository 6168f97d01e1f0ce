"""The grader among notebooks that loop, crash, eat memory and leave processes: nobody else's result changes."""

import subprocess
import sys

import psutil
import pytest

from tests.tools.test_grade import FIRST, RIGHT, SECOND, notebook, read_table

STUB = f"def {FIRST}(running_mean, running_var, x, momentum=0.1):\n    ..."
WRONG = f"def {FIRST}(running_mean, running_var, x, momentum=0.1):\n    return 0, 0"
SLEEP = "61234.5"  # seconds, to know our own sleepers by

posix = pytest.mark.skipif(sys.platform == "win32", reason="limits of the system, and processes that fork")

# name -> its cells, between the setup and a right answer, and what the note says
BROKEN = {
    "exits": (["sys.exit()", "exit()"], ""),
    "leaks": ([f"!sleep {SLEEP} &", "import threading\nthreading.Thread(target=threading.Event().wait).start()"], ""),
    "loops": (["while True: pass"], "cell 2 computes for too long; the rest is graded without it"),
    "eats": (["eaten = []\nwhile True: eaten.append(np.ones(10**7))"], "cell 2 "),
    "eats at once": (["eaten = 'x' * 10**12"], "cell 2 needs too much memory"),
    "prints": (["while True: print('x' * 10**6)"], "cell 2 computes for too long"),
}
# What ends the process, or cannot be stopped from within, costs this notebook all of its results.
FATAL = {
    "ends": (["import os\nos._exit(0)"], "CRASHED: the process ended in the middle of cell 2"),
    "sleeps": (["import time\ntime.sleep(1000)"], "TIME: the process ended in the middle of cell 2"),
}


def grade(folder, *options):
    """The rows of the table, by student, and what was said."""
    command = [sys.executable, "-m", "tools.classroom.grade", folder, *options]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    return {row["student"]: row for row in read_table(folder)}, done.stdout


@pytest.fixture
def submissions(tmp_path):
    folder = tmp_path / "of a class" / "submissions"
    folder.mkdir(parents=True)
    for name in ("a first", "good", "z last"):
        (folder / f"{name}.ipynb").write_text(notebook(RIGHT, STUB), encoding="utf-8")
    return folder


@posix
def test_no_notebook_stops_or_alters_the_others(submissions):
    alone, _ = grade(submissions)
    for name, (cells, _) in (BROKEN | FATAL).items():
        (submissions / f"{name}.ipynb").write_text(notebook(*cells, RIGHT, STUB), encoding="utf-8")
    (submissions / "broken.ipynb").write_text("{", encoding="utf-8")
    before = {path: path.read_bytes() for path in submissions.iterdir()}
    rows, said = grade(submissions, "--seconds", "2", "--memory", "1000", "--jobs", "4")
    assert {path: path.read_bytes() for path in submissions.iterdir()} == before
    assert {name: rows[name] for name in alone} == alone
    for name, (_, words) in BROKEN.items():
        assert (rows[name][FIRST], rows[name][SECOND]) == ("TODO", "PASS"), (name, rows[name])
        assert words in rows[name]["note"], (name, rows[name]["note"])
    for name, (_, words) in FATAL.items():
        assert rows[name][FIRST] == rows[name][SECOND] == words, (name, rows[name])
    assert "not a notebook" in rows["broken"]["note"]
    assert f"[{len(before)}/{len(before)}]" in said
    sleepers = [p.info for p in psutil.process_iter(["cmdline"]) if SLEEP in " ".join(p.info["cmdline"] or [])]
    assert sleepers == []


@posix
def test_results_do_not_depend_on_jobs(submissions):
    for n in range(3):
        source = WRONG if n else "import os\nos._exit(0)"
        (submissions / f"student {n}.ipynb").write_text(notebook(source, RIGHT), encoding="utf-8")
    assert grade(submissions, "--jobs", "1")[0] == grade(submissions, "--jobs", "6")[0]
