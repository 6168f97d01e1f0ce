"""Programs in a fixed environment, and copies of the repository to run them in."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tree(tmp_path):
    """A checkout: what git holds of the lessons and what they stand on."""
    folder = tmp_path / "checkout"
    ignore = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints", "node_modules", "browser")
    for part in ("notebooks", "helpers", "tools", "tests"):
        shutil.copytree(ROOT / part, folder / part, ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


@pytest.fixture
def run():
    """Run a program in strict mode, as continuous integration does; returns the finished process."""

    def run(*command, cwd=ROOT, timeout=900, **environ):
        left = {name: value for name, value in os.environ.items() if name not in ("MPLBACKEND", "PYTEST_ADDOPTS")}
        own = {"HELPERS_STRICT": "1", "OMP_NUM_THREADS": "1"} | environ
        return subprocess.run(command, cwd=cwd, env=left | own, capture_output=True, text=True, timeout=timeout)

    return run
