"""Three scripted students on a JupyterHub of this machine: log in, learn, leave, come again after a change."""

import importlib.util
import socket
import sys
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[2]
STUDENTS = 3


@pytest.fixture(scope="module")
def figures(a_class_is_possible):
    spec = importlib.util.spec_from_file_location(
        "class_load_test", ROOT / "tools" / "classroom" / "hub" / "load_test.py"
    )
    load_test = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(load_test)
    figures = load_test.run(STUDENTS, alone=False)
    print("\n".join(load_test.report(figures)))
    return figures | {"seen": load_test.seen(figures)}


@pytest.mark.parametrize(
    "promise",
    [
        "copies came trusted",
        "summaries complete, first day",
        "answers kept after the change",
        "untouched lessons followed",
        "the new lesson arrived",
        "summaries complete, second day",
    ],
)
def test_every_student_gets_what_was_promised(figures, promise):
    assert figures["seen"][promise] == STUDENTS, [student.summary for student in figures["first"] + figures["second"]]


def test_every_promise_is_tested(figures):
    (mark,) = test_every_student_gets_what_was_promised.pytestmark
    assert set(mark.args[1]) == set(figures["seen"])


def test_students_have_servers_and_kernels_of_their_own(figures):
    count = {kind: len(sizes) for kind, sizes in figures["memory"].items()}
    assert count == {"hub": 1, "proxy": 1, "server": STUDENTS, "kernel": STUDENTS}
    assert all(size > 10 for sizes in figures["memory"].values() for size in sizes)


def test_the_hub_tells_the_teacher_what_changed(figures):
    kept = "workbook/01_axis_intuition.ipynb holds your answers and was kept; its lesson has changed"
    for number in range(1, STUDENTS + 1):
        assert f"student{number:02d}: {kept}" in figures["log"]
    assert "Traceback" not in figures["log"]


def test_nothing_stays_behind(figures):
    assert figures["left_running"] == 0
    assert not figures["folder"].exists()
    for port in range(figures["port"], figures["port"] + 3):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
    ours = [str(figures["folder"]), str(ROOT / "tools" / "classroom" / "hub")]
    lines = [" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])]
    assert [line for line in lines if any(folder in line for folder in ours) and sys.executable in line] == []
