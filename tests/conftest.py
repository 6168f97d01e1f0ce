"""What all tests share: a fixed environment, whoever starts pytest and however."""

import atexit
import gc
import os
import re
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

HERE = Path(__file__).resolve().parent
WEEKLY = ("browser", "robustness", "classroom", "conclusions")

# For the kernels in which nbval runs the lessons: a failing check raises, one thread, this environment's packages,
# and nobody's personal IPython start-up files.
os.environ["HELPERS_STRICT"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
os.environ["IPYTHONDIR"] = tempfile.mkdtemp(prefix="tests-ipython-")
atexit.register(shutil.rmtree, os.environ["IPYTHONDIR"], ignore_errors=True)

# Every property is tried on the same examples on every machine, and no example database is left behind.
settings.register_profile("house", derandomize=True, deadline=None, max_examples=50, database=None)
settings.load_profile("house")


@pytest.fixture(autouse=True)
def as_a_learner(monkeypatch):
    """A unit test sees the checks as a learner does; one that wants strict mode sets HELPERS_STRICT itself."""
    monkeypatch.delenv("HELPERS_STRICT", raising=False)
    monkeypatch.setenv("MPLBACKEND", "agg")  # not above: the kernels need their own


def pytest_runtest_logreport(report):
    """nbval marks stored lines with + and new ones with -, and says neither that nor what to do."""
    if report.failed and ".ipynb" in report.nodeid and isinstance(report.longrepr, str):
        above, told, below = report.longrepr.partition(" assert reference_output == test_output failed:\n")
        number = Path(report.nodeid.partition("::")[0]).stem[:2]
        advice = "- is stored, + is what the cell gives now. If the unit tests pass and the new output is right, run\n"
        swapped = re.sub(r"^(\s*)([-+])(?= )", lambda m: m[1] + "+-"[m[2] == "+"], below, flags=re.MULTILINE)
        report.longrepr = above + (told and f"{advice}`make notebooks LESSON={number}`:\n") + swapped


def pytest_collection_finish():
    """Thousands of tests stay until the end: the collector need not look at them again and again."""
    gc.freeze()
    gc.disable()


def pytest_ignore_collect(collection_path, config):
    """What takes minutes runs only when it is named: `make test-browser`, `make test-everything`."""
    if collection_path.parent == HERE and collection_path.name in WEEKLY:
        return not any(collection_path.name in Path(str(argument)).parts for argument in config.args) or None
    return None
