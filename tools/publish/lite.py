"""Build the lessons as they run in a browser with nothing installed: JupyterLite, in site/run/.

    python -m tools.publish.lite            writes site/run/
    python -m tools.publish.lite FOLDER     writes FOLDER

Python itself comes from Pyodide: from the address in pyproject.toml under [tool.site], or from a folder that holds a
distribution (PYODIDE_DIST), whose needed files are copied into the site. What Pyodide lacks (the helpers, the widgets,
JupyterLite's kernel) are wheels in packages/, and Pyodide's list of packages, the lock, is extended by them.
"""

import argparse
import hashlib
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import urllib.request
import zipfile
from pathlib import Path

import nbformat
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.learner import workbook
from tools.lessons import ROOT
from tools.publish.pages import PublishError, known_questions, run
from tools.publish.replace_folder import check_place, replace_folder
from tools.publish.typeset import WEB

LITE_VENV = ROOT / ".venv-lite"
PYTHON = LITE_VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
FOLDER = "run"  # of the site, where the lessons are that run
ABOUT = "lessons.json"  # in it: the hash of each lesson's original, with which the copies in a browser are compared
KERNEL = LITE_VENV / "share/jupyter/labextensions/@jupyterlite/pyodide-kernel-extension/static/pypi"
CORE = ("pyodide.js", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip")

# What Pyodide's list lacks: pure Python, in the versions of requirements.lock; and what JupyterLite's kernel brings.
LOCKED = ["comm", "psygnal", "anywidget", "ipywidgets", "seaborn"]
OF_KERNEL = ["ipykernel-6", "piplite-", "pyodide_kernel-", "widgetsnbextension-4"]
# What the helpers need of pyproject.toml's dependencies in a browser. A lesson that draws with seaborn imports it.
HELPERS = ["numpy", "matplotlib", "ipywidgets", "anywidget"]
# Loaded before the kernel starts. JupyterLite would look for those that are missing here on PyPI.
AT_START = ["micropip", "piplite", "sqlite3", "ipykernel", "comm", "pyodide_kernel", "jedi", "ipython"]


# ----------------------------------------------------------------------------------------------------
# Packages


def must_run(command, what, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)
    if done.returncode:
        raise PublishError(f"{what}:\n{(done.stdout + done.stderr)[-2000:]}")


def write_wheels(folder):
    """All wheels that Pyodide lacks, into a folder: the locked ones, those of JupyterLite's kernel, and the helpers."""
    folder.mkdir(parents=True)
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    wanted = folder / "wanted.txt"
    entries = [re.search(rf"^{name}==(?:.*\\\n)*.*\n", lock, re.M)[0] for name in LOCKED]
    wanted.write_text("".join(entries), encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes", "-r", wanted]
    command += ["--only-binary=:all:", "--platform=any", "--python-version=3.13", "--implementation=py", "-d", folder]
    must_run(command, "The packages for the browser could not be downloaded")
    wanted.unlink()
    for beginning in OF_KERNEL:
        shutil.copy(next(KERNEL.glob(f"{beginning}*.whl")), folder)
    must_run([sys.executable, "-m", "uv", "build", "--wheel", "-o", folder], "The helpers make no wheel", cwd=ROOT)
    (folder / ".gitignore").unlink(missing_ok=True)
    return sorted(folder.glob("*.whl"))


def entry(wheel):
    """(name, what Pyodide's list says of a wheel), with all that its metadata require."""
    module, version = wheel.name.split("-")[:2]
    place = zipfile.Path(wheel, f"{module}-{version}.dist-info/")
    required = map(Requirement, importlib.metadata.PathDistribution(place).requires or [])
    name, depends = canonicalize_name(module), [need.name for need in required if not need.marker]
    if name == "normalization-notebooks":
        module, depends = "helpers", HELPERS
    return name, {
        "name": name,
        "version": version,
        "file_name": wheel.name,
        "install_dir": "site",
        "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
        "package_type": "package",
        "imports": [module],
        "depends": depends,
        "unvendored_tests": False,
    }


def read_lock(pyodide):
    """The list of packages of a distribution, which lies in a folder or at an address."""
    try:
        if isinstance(pyodide, Path):
            return json.loads((pyodide / "pyodide-lock.json").read_text(encoding="utf-8"))
        with urllib.request.urlopen(pyodide + "pyodide-lock.json", timeout=60) as answer:
            return json.load(answer)
    except (OSError, ValueError) as reason:
        raise PublishError(f"{pyodide} holds no distribution of Pyodide ({reason}): set PYODIDE_DIST.") from None


def needed(names, packages):
    """The names and all that they need."""
    found, todo = set(), list(names)
    while todo:
        name = canonicalize_name(todo.pop())
        if name not in found and name in packages:
            found.add(name)
            todo += packages[name]["depends"]
    return found


def extended(lock, ours, before):
    """The list of packages with ours; `before` is the address of theirs. What none of them is, no package needs."""
    theirs = {canonicalize_name(name): package for name, package in lock["packages"].items()}
    theirs = {name: package | {"file_name": before + package["file_name"]} for name, package in theirs.items()}
    packages = {}
    for name, package in (theirs | ours).items():
        depends = [need for need in map(canonicalize_name, package["depends"]) if need in theirs or need in ours]
        packages[name] = package | {"depends": depends}
    return lock | {"packages": packages}


def write_python(pyodide, out):
    """Write packages/ with its list, and pyodide/ where the distribution is a folder."""
    is_folder = isinstance(pyodide, Path)
    ours = dict(map(entry, write_wheels(out / "packages")))
    lock = extended(read_lock(pyodide), ours, "../pyodide/" if is_folder else pyodide)
    if is_folder:
        lock["packages"] = {name: lock["packages"][name] for name in needed([*AT_START, *ours], lock["packages"])}
        files = [package["file_name"] for name, package in lock["packages"].items() if name not in ours]
        (out / "pyodide").mkdir()
        for file in [*CORE, *(Path(file).name for file in files)]:
            shutil.copy(pyodide / file, out / "pyodide")
    (out / "packages" / "pyodide-lock.json").write_text(json.dumps(lock), encoding="utf-8")


# ----------------------------------------------------------------------------------------------------
# Lessons


def as_served(original):
    """The copy of a lesson, as a Jupyter server sends it when it opens a trusted file."""
    nb = nbformat.reads(workbook.copy_of(original).decode("utf-8"), as_version=4)
    for cell in nb.cells:
        if cell.cell_type == "code":
            cell.metadata["trusted"] = True
    nb.metadata["kernelspec"] = {"display_name": "Python (Pyodide)", "language": "python", "name": "python"}
    return nb


def write_contents(folder):
    """The lessons as `make lab` copies them, and the glossary; return {file of a lesson: hash of its original}."""
    folder.mkdir(parents=True)
    hashes = {}
    for lesson in sorted((ROOT / "notebooks").glob("*.ipynb")):
        nb = as_served(lesson)
        (folder / lesson.name).write_text(json.dumps(nb, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
        hashes[lesson.name] = workbook.remembered(nb)["original"]
    shutil.copy(ROOT / "notebooks" / "glossary.md", folder)
    return hashes


# ----------------------------------------------------------------------------------------------------
# Building


def kernel_script():
    """JavaScript that holds the Python which prepares a kernel: advice after a NameError, and what lesson 00 reads."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    dependencies = [line for line in project["dependencies"] if Requirement(line).name in HELPERS]
    needs = f"[project]\ndependencies = {json.dumps(dependencies)}\n"
    advice = (ROOT / "tools" / "learner" / "missing_name.py").read_text(encoding="utf-8")
    program = [advice, "install(shell)", "import pathlib, sys", "sys.path.insert(0, '.')"]
    program.append(f"pathlib.Path('pyproject.toml').write_text({needs!r})")
    return f"globalThis.lessonsKernel = {json.dumps(chr(10).join(program))};\n"


def write_settings(folder, pyodide):
    """JupyterLite's settings and our extension of JupyterLab, as `jupyter lite build` reads them."""
    config = json.loads((WEB / "lite" / "jupyter-lite.json").read_text(encoding="utf-8"))
    config["jupyter-config-data"]["litePluginSettings"] = {
        "@jupyterlite/pyodide-kernel-extension:kernel": {
            "pyodideUrl": "./pyodide/pyodide.js" if isinstance(pyodide, Path) else pyodide + "pyodide.js",
            "disablePyPIFallback": True,
            "loadPyodideOptions": {"lockFileURL": "./packages/pyodide-lock.json", "packages": AT_START},
        }
    }
    (folder / "jupyter-lite.json").write_text(json.dumps(config), encoding="utf-8")
    shutil.copy(WEB / "lite" / "overrides.json", folder)
    extensions = folder / "labextensions"
    path = {"FederatedExtensionAddon": {"extra_labextensions_path": [str(extensions)]}}
    (folder / "jupyter_lite_config.json").write_text(json.dumps(path), encoding="utf-8")
    static = extensions / "lessons-lite" / "static"
    static.mkdir(parents=True)
    shutil.copy(WEB / "lite" / "package.json", static.parent)
    code = (WEB / "bundle" / "lite.js").read_text(encoding="utf-8")
    (static / "lite.js").write_text(known_questions() + kernel_script() + code, encoding="utf-8")


def build(out, pyodide):
    """Write the folder; return the number of lessons."""
    check_place(out)
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "source", Path(folder) / "made"
        hashes = write_contents(source / "contents")
        write_settings(source, pyodide)
        command = [PYTHON, "-m", "jupyterlite_core", "build", "--contents", source / "contents", "--output-dir", made]
        command += ["--no-sourcemaps", "--no-unused-shared-packages", "--apps", "lab", "--apps", "notebooks"]
        must_run(command, "JupyterLite could not be built", cwd=source)
        write_python(pyodide, made)
        (made / ABOUT).write_text(json.dumps(hashes), encoding="utf-8")
        replace_folder(made, out)
    return len(hashes)


def main(arguments=None):
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["site"]
    parser = argparse.ArgumentParser(description="Build the lessons that run in a browser.")
    parser.add_argument("out", nargs="?", default=ROOT / "site" / "run", help="output folder (default: site/run/)")
    options = parser.parse_args(arguments)
    place = os.environ.get("PYODIDE_DIST") or settings["pyodide"]
    is_address = place.startswith(("https://", "http://"))
    pyodide = place.rstrip("/") + "/" if is_address else Path(place).resolve()
    return run(lambda options: f"{build(options.out, pyodide)} lessons for the browser", options)


if __name__ == "__main__":
    sys.exit(main())
