"""The grader among notebooks that end, eat, delete, forge and flee: nobody else's result changes, and no file."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[2]

FIRST, SECOND = "my_update_running_stats", "my_torch_momentum_from_keras"
RIGHT = f"def {SECOND}(keras_momentum):\n    return 1 - keras_momentum"
STUB = f"def {FIRST}(running_mean, running_var, x, momentum=0.1):\n    ..."
WRONG = f"def {FIRST}(running_mean, running_var, x, momentum=0.1):\n    return 0, 0"
SETUP = "import os\nimport shutil\nimport subprocess\nimport sys\nimport time\nimport numpy as np\nimport helpers"
SLEEP = "61234.5"  # seconds, to know our own sleepers by

posix = pytest.mark.skipif(sys.platform == "win32", reason="limits of the system, and processes that fork")

# name -> its cells, between the setup and a right answer; FOLDER stands for the folder of the submissions
HOSTILE = {
    "closes": ["os.closerange(3, 200)"],
    "deletes": [
        "open('mine', 'w').close()\nos.remove('mine')\nassert not os.listdir('.')",
        "shutil.rmtree('..')",
        "shutil.rmtree('FOLDER')",
        "for name in os.listdir('FOLDER'): os.remove(os.path.join('FOLDER', name))",
        "os.rename('FOLDER/good.ipynb', 'stolen')",
        "import sqlite3\nsqlite3.connect('FOLDER/new.db').execute('create table t (x)')",
        "os.symlink('FOLDER', 'link')\nopen('link/good.ipynb', 'w')",
        "open(os.path.join(os.path.dirname(helpers.__file__), 'norms.py'), 'w')",
    ],
    "ends": ["os._exit(0)"],
    "exits": ["sys.exit()", "exit()"],
    "floods": [
        "while True:\n    for n in range(3, 20):\n        try: os.write(n, b'x' * 10**6)\n        except OSError: pass"
    ],
    "forges": [
        'for n in range(3, 30):\n    try: os.write(n, b\'{"exercise": "NAME", "passed": true}\\n\')\n'
        "    except OSError: pass".replace("NAME", FIRST),
        "helpers.check_exercise = lambda *a, **k: True",
        "helpers.exercises.checker.diagnose = lambda *a, **k: (True, '')",
        "print('PASS - my_update_running_stats: 7 cases')",
        WRONG,
    ],
    "kills": ["os.kill(os.getppid(), 9)", "os.killpg(0, 9)", "os.kill(-1, 9)"],
    "leaks": [
        f"subprocess.Popen([sys.executable, '-c', 'import time; time.sleep({SLEEP})'], start_new_session=True)",
        f"!sleep {SLEEP} &",
        f"if os.fork() == 0:\n    os.setsid()\n    time.sleep({SLEEP})",
        "import threading\nthreading.Thread(target=lambda: time.sleep(1000)).start()",
    ],
    "loops": ["while True: pass"],
    "loops on": ["while True:\n    try:\n        while True: pass\n    except BaseException: pass"],
    "eats": ["eaten = []\nwhile True: eaten.append(np.ones(10**7))"],
    "eats at once": ["eaten = 'x' * 10**12"],
    "prints": ["while True: print('x' * 10**6)"],
    "reads": [f"{FIRST} = open('FOLDER/good.ipynb').read()"],
    "sleeps": ["time.sleep(1000)"],
    "writes": ["n = 0\nwhile True:\n    n += 1\n    open(str(n), 'wb').write(bytes(10**7))"],
}
NOTES = {
    "closes": "CRASHED: the process ended",
    "ends": "CRASHED: the process ended",
    "eats": "MEMORY: cell 2 needs more than 1000 MB",
    "eats at once": "MEMORY: cell 2 needs more than 1000 MB",
    "floods": "TIME: cell 2",
    "loops": "TIME: cell 2",
    "loops on": "TIME: cell 2",
    "prints": "TIME: cell 2",
    "sleeps": "TIME: cell 2",
    "writes": "CRASHED: cell 2 writes more than 200 MB",
}


def notebook(*sources):
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    return json.dumps({"cells": [{**cell, "source": s} for s in sources], "metadata": {}, "nbformat": 4})


def grade(folder, *options):
    """The rows of the table, by student, and what was said."""
    table = folder.with_name(f"table {len(list(folder.parent.iterdir()))}.csv")
    command = [sys.executable, ROOT / "tools" / "grade.py", folder, "--csv", table, *options]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    with open(table, encoding="utf-8-sig", newline="") as file:
        return {row["student"]: row for row in csv.DictReader(file)}, done.stdout


def everything_in(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"}


@pytest.fixture
def submissions(tmp_path):
    folder = tmp_path / "of a class" / "submissions"
    folder.mkdir(parents=True)
    for name in ("a first", "good", "z last"):
        (folder / f"{name}.ipynb").write_text(notebook(SETUP, RIGHT, STUB), encoding="utf-8")
    return folder


@posix
def test_no_notebook_stops_or_alters_the_others(submissions, tmp_path):
    alone, _ = grade(submissions)
    for name, cells in HOSTILE.items():
        cells = [cell.replace("FOLDER", submissions.as_posix()) for cell in cells]
        answers = [RIGHT] if any(FIRST in cell for cell in cells) else [RIGHT, STUB]
        (submissions / f"{name}.ipynb").write_text(notebook(SETUP, *cells, *answers), encoding="utf-8")
    (submissions / "broken.ipynb").write_text("{", encoding="utf-8")
    (tmp_path / "of a class" / "beside").write_text("keep me", encoding="utf-8")
    before, helpers = everything_in(submissions), everything_in(ROOT / "helpers")
    rows, said = grade(submissions, "--seconds", "3", "--memory", "1000", "--jobs", "4")
    assert everything_in(submissions) == before
    assert everything_in(ROOT / "helpers") == helpers
    assert (tmp_path / "of a class" / "beside").read_text(encoding="utf-8") == "keep me"
    assert {name: rows[name] for name in alone} == alone
    for name in HOSTILE:
        assert rows[name][SECOND] == "PASS", (name, rows[name])
        assert rows[name][FIRST] != "PASS", (name, rows[name])
        assert rows[name]["note"].count("TIME") + rows[name]["note"].count("CRASHED") <= 1
        assert NOTES.get(name, "") in rows[name]["note"], (name, rows[name]["note"])
    assert "PermissionError" in rows["reads"][FIRST]
    assert "not a notebook" in rows["broken"]["note"]
    assert f"[{len(before)}/{len(before)}]" in said
    sleepers = [p.info for p in psutil.process_iter(["cmdline"]) if SLEEP in " ".join(p.info["cmdline"] or [])]
    assert sleepers == []


def test_a_cell_that_ends_the_process_costs_only_what_it_defines(submissions):
    ends = f"import os\n\n\n{WRONG}\n\n\nos._exit(0)"
    (submissions / "ends.ipynb").write_text(notebook(SETUP, ends, RIGHT), encoding="utf-8")
    row = grade(submissions)[0]["ends"]
    assert (row[FIRST], row[SECOND]) == ("CRASHED: the process ended in the middle of cell 2", "PASS")
    assert "the rest is graded without it" in row["note"]


@posix
def test_the_results_do_not_depend_on_how_many_run_at_once(submissions):
    for n in range(3):
        source = WRONG if n else "import os\nos._exit(0)"
        (submissions / f"student {n}.ipynb").write_text(notebook(SETUP, source, RIGHT), encoding="utf-8")
    assert grade(submissions, "--jobs", "1")[0] == grade(submissions, "--jobs", "6")[0]
