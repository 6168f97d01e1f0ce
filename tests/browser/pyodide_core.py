"""A small distribution of Pyodide for the tests: Python from npm, pure wheels from PyPI, and no NumPy unless given.

    python -m tests.browser.pyodide_core FOLDER [WHEEL...]     WHEEL: one of Pyodide's, such as that of NumPy

sqlite3 is an empty stand-in: PyPI has none for WebAssembly, and IPython asks for it only to keep a history.
"""

import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from packaging.utils import canonicalize_name

from tools.publish.lite import CORE, needed

VERSION = "0.29.3"
AT_START = ["micropip", "ipython", "jedi", "typing-extensions", "traitlets"]
STAND_IN = "sqlite3"


def make(folder, wheels=()):
    """Write the distribution into a new folder."""
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as place:
        subprocess.run(["npm", "pack", "--silent", f"pyodide@{VERSION}"], cwd=place, check=True, capture_output=True)
        with tarfile.open(next(Path(place).glob("*.tgz"))) as archive:
            archive.extractall(place)
        for name in CORE:
            shutil.copy(Path(place) / "package" / name, folder)
        lock = json.loads((Path(place) / "package" / "pyodide-lock.json").read_text(encoding="utf-8"))
    packages = lock["packages"]
    wanted = [f"{name}=={packages[name]['version']}" for name in sorted(needed(AT_START, packages) - {STAND_IN})]
    only = ["--no-deps", "--only-binary=:all:", "--platform=any", "--python-version=3.13", "--implementation=py"]
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", *only, *wanted], cwd=folder, check=True)
    for wheel in wheels:
        shutil.copy(wheel, folder)
    with zipfile.ZipFile(folder / f"{STAND_IN}-1.0.0-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{STAND_IN}-1.0.0.dist-info/METADATA", f"Name: {STAND_IN}\nVersion: 1.0.0\n")
        archive.writestr(f"{STAND_IN}-1.0.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n")
    held = {}
    for wheel in folder.glob("*.whl"):
        name, version = wheel.name.split("-")[:2]
        own = {"file_name": wheel.name, "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(), "version": version}
        held[canonicalize_name(name)] = packages[canonicalize_name(name)] | own
    for package in held.values():
        package["depends"] = [name for name in package["depends"] if canonicalize_name(name) in held]
    (folder / "pyodide-lock.json").write_text(json.dumps(lock | {"packages": held}), encoding="utf-8")


if __name__ == "__main__":
    make(Path(sys.argv[1]), list(map(Path, sys.argv[2:])))
