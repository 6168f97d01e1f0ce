"""Build the lessons as they run in a browser with nothing installed: JupyterLite, in site/run/.

    python -m tools.publish.lite            writes site/run/
    python -m tools.publish.lite FOLDER     writes FOLDER

Python itself comes from Pyodide: from the address in pyproject.toml under [tool.site], or from a folder that holds a
distribution (PYODIDE_DIST), whose needed files are copied into the site. What Pyodide lacks (the helpers, the widgets,
JupyterLite's kernel) are wheels in packages/, and Pyodide's list of packages, the lock, is extended by them.
"""

import argparse
import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

from tools import bootstrap
from tools.learner import workbook
from tools.lessons import ROOT, text
from tools.publish.pages import PublishError, known_questions, run
from tools.publish.replace_folder import check_place, replace_folder
from tools.publish.typeset import WEB

LITE_VENV = ROOT / ".venv-lite"
FOLDER = "run"  # of the site, where the lessons are that run
ABOUT = "lessons.json"  # in it: what the copies in a browser are compared with, and where the pages for reading are
KERNEL = LITE_VENV / "share/jupyter/labextensions/@jupyterlite/pyodide-kernel-extension/static/pypi"
CORE = ("pyodide.js", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip")

# What Pyodide's own list lacks, with what each needs: pure Python, in the versions of requirements.lock,
LOCKED = {
    "comm": ["traitlets"],
    "psygnal": [],
    "anywidget": ["ipywidgets", "psygnal", "typing-extensions"],
    "ipywidgets": ["comm", "ipython", "traitlets", "widgetsnbextension"],
    "seaborn": ["numpy", "pandas", "matplotlib"],
}
# and what JupyterLite's kernel brings.
OF_KERNEL = {
    "ipykernel-6": [],
    "piplite-": ["micropip"],
    "pyodide_kernel-": ["ipython", "comm", "ipykernel", "traitlets"],
    "widgetsnbextension-4": [],
}
# Pyodide loads what the imports of a cell name. What helpers imports later, lessons_kernel.py lets it load.
HELPERS = ["numpy", "anywidget", "ipywidgets"]
# What Pyodide loads with matplotlib although no picture here needs it: it is for PDF files and time zones.
NOT_FOR_PICTURES = {"fonttools", "pytz"}
# Loaded before the kernel starts. JupyterLite would look for those that are missing here on PyPI.
AT_START = [
    "micropip",
    "piplite",
    "sqlite3",
    "ipykernel",
    "comm",
    "pyodide_kernel",
    "jedi",
    "ipython",
    "lessons-kernel",
]
# What a first visit downloads, compressed, in MB: JupyterLab and Python (12) with NumPy and widgets, then what draws.
# Counted from the files that a browser asked for; NumPy, matplotlib and pandas by the sizes that Pyodide states.
DOWNLOADED = {"": 16, "matplotlib": 9, "seaborn": 5}


# ----------------------------------------------------------------------------------------------------
# Wheels and the list of packages


def normalized(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def make_wheel(folder, name, files):
    """A wheel of {path: bytes}, the same bytes each time; return its path."""
    stem = f"{name.replace('-', '_')}-1.0.0"
    files = files | {
        f"{stem}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0.0\n".encode(),
        f"{stem}.dist-info/WHEEL": b"Wheel-Version: 1.0\nGenerator: lite\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = f"{stem}.dist-info/RECORD"
    lines = []
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(data)}\n")
    files[record] = "".join([*lines, f"{record},,\n"]).encode()
    wheel = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path, data in files.items():
            archive.writestr(zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return wheel


def files_of_helpers():
    found = sorted(path for path in (ROOT / "helpers").rglob("*") if path.is_file())
    return {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in found if "__pycache__" not in path.parts}


def download_locked(folder):
    """The wheels of LOCKED, with the versions and hashes of requirements.lock."""
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    entries = [re.search(rf"^{name}==(?:.*\\\n)*.*\n", lock, re.M)[0] for name in LOCKED]
    wanted = folder / "wanted.txt"
    wanted.write_text("".join(entries), encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes", "-r", wanted]
    command += ["--only-binary=:all:", "--platform=any", "--python-version=3.13", "--implementation=py", "-d", folder]
    environment = bootstrap.environment(sys.executable)
    try:
        bootstrap.need(list(map(str, command)), environment, "The packages for the browser could not be downloaded")
    except bootstrap.Stop as reason:
        raise PublishError(str(reason)) from None
    wanted.unlink()


def entry(wheel, depends, imports=None):
    """(name, what Pyodide's list says of a wheel)."""
    name, version = wheel.name.split("-")[:2]
    return normalized(name), {
        "name": normalized(name),
        "version": version,
        "file_name": wheel.name,
        "install_dir": "site",
        "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
        "package_type": "package",
        "imports": imports or [name],
        "depends": depends,
        "unvendored_tests": False,
    }


def needs_in_a_browser():
    """pyproject.toml, as far as lesson 00 asks it what a machine must have."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = [line for line in project["dependencies"] if re.match(r"[\w-]+", line)[0] in HELPERS]
    return f"[project]\ndependencies = {json.dumps(needed)}\n"


def write_packages(folder):
    """All wheels that Pyodide lacks, into a folder; return their entries."""
    folder.mkdir(parents=True)
    download_locked(folder)
    entries = [entry(next(folder.glob(f"{name}-*.whl")), depends) for name, depends in LOCKED.items()]
    for beginning, depends in OF_KERNEL.items():
        wheel = shutil.copy(next(KERNEL.glob(f"{beginning}*.whl")), folder)
        entries.append(entry(Path(wheel), depends))
    entries.append(entry(make_wheel(folder, "normalization-helpers", files_of_helpers()), HELPERS, ["helpers"]))
    modules = [ROOT / "tools/learner/missing_name.py", WEB / "lite" / "lessons_kernel.py"]
    files = {path.name: path.read_bytes() for path in modules} | {"lessons.toml": needs_in_a_browser().encode()}
    wheel = make_wheel(folder, "lessons-kernel", files)
    entries.append(entry(wheel, ["ipython"], [path.stem for path in modules]))
    return dict(entries)


def closure(names, packages):
    """The names and all that they need; and what of that is nowhere."""
    found, missing, todo = set(), set(), [normalized(name) for name in names]
    while todo:
        name = todo.pop()
        if name in found or name in missing:
            continue
        if name not in packages:
            missing.add(name)
            continue
        found.add(name)
        todo += map(normalized, packages[name]["depends"])
    return found, missing


def read_lock(pyodide):
    """The list of packages of a distribution, which lies in a folder or at an address."""
    try:
        if isinstance(pyodide, Path):
            return json.loads((pyodide / "pyodide-lock.json").read_text(encoding="utf-8"))
        with urllib.request.urlopen(pyodide + "pyodide-lock.json", timeout=60) as answer:
            return json.load(answer)
    except (OSError, urllib.error.URLError, ValueError) as reason:
        raise PublishError(f"{pyodide} holds no distribution of Pyodide ({reason}): set PYODIDE_DIST.") from None


def write_python(pyodide, out, incomplete=False):
    """Write packages/ with its list, and pyodide/ where the distribution is a folder; return what is missing."""
    lock = read_lock(pyodide)
    theirs = {normalized(name): package for name, package in lock["packages"].items()}
    if pictures := theirs.get("matplotlib"):
        theirs["matplotlib"] = pictures | {"depends": [n for n in pictures["depends"] if n not in NOT_FOR_PICTURES]}
    ours = write_packages(out / "packages")
    packages = theirs | ours
    found, missing = closure([*AT_START, *ours], packages)
    if missing and not incomplete:
        raise PublishError(f"This distribution of Pyodide lacks {', '.join(sorted(missing))}: take a full one.")
    if isinstance(pyodide, Path):
        (out / "pyodide").mkdir()
        for name in [*CORE, *(theirs[name]["file_name"] for name in found - set(ours))]:
            shutil.copy(pyodide / name, out / "pyodide")
        packages = {name: package for name, package in packages.items() if name in found}
    before = "../pyodide/" if isinstance(pyodide, Path) else pyodide
    listed = {}
    for name, package in packages.items():
        depends = [need for need in package["depends"] if normalized(need) not in missing]
        file = package["file_name"] if name in ours else before + package["file_name"]
        listed[name] = package | {"depends": depends, "file_name": file}
    lock["packages"] = listed
    (out / "packages" / "pyodide-lock.json").write_text(json.dumps(lock), encoding="utf-8")
    return missing


# ----------------------------------------------------------------------------------------------------
# Lessons


def joined(value):
    return text(value) if isinstance(value, list) and all(isinstance(line, str) for line in value) else value


def as_served(nb):
    """What a Jupyter server sends when it opens a trusted file: lists of lines are one text, cells are trusted."""
    for cell in nb["cells"]:
        cell["source"] = text(cell["source"])
        if cell["cell_type"] == "code":
            cell["metadata"]["trusted"] = True
        for output in cell.get("outputs", []):
            if "text" in output:
                output["text"] = text(output["text"])
            data = output.get("data", {})
            data |= {kind: joined(value) for kind, value in data.items() if not kind.endswith("json")}
    nb["metadata"]["kernelspec"] = {"display_name": "Python (Pyodide)", "language": "python", "name": "python"}
    return nb


def write_contents(folder):
    """The lessons as `make lab` copies them, and the glossary; return {file of a lesson: hash of its original}."""
    folder.mkdir(parents=True)
    hashes = {}
    for lesson in sorted((ROOT / "notebooks").glob("*.ipynb")):
        nb = as_served(json.loads(workbook.copy_of(lesson)))
        (folder / lesson.name).write_text(json.dumps(nb, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
        hashes[lesson.name] = workbook.remembered(nb)["original"]
    shutil.copy(ROOT / "notebooks" / "glossary.md", folder)
    return hashes


def megabytes(nb):
    """What the first visit to a lesson downloads, about, when all of its cells are run."""
    code = "\n".join(text(cell["source"]) for cell in nb["cells"] if cell["cell_type"] == "code")
    needed = [words for words in DOWNLOADED if words in code or words == "matplotlib" and "new_figure" in code]
    return sum(DOWNLOADED[words] for words in needed)


def lead_back(out, hashes=None):
    """Note in the folder of the lessons that run what they are, and whether the site's pages lie beside them."""
    file = out / ABOUT
    hashes = hashes or json.loads(file.read_text(encoding="utf-8"))["lessons"]
    beside = all((out.parent / name).with_suffix(".html").exists() for name in hashes)
    file.write_text(json.dumps({"pages": "../" if beside else None, "lessons": hashes}), encoding="utf-8")
    return beside


# ----------------------------------------------------------------------------------------------------
# Building


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
    (static / "lite.js").write_text(known_questions() + code, encoding="utf-8")


def build(out, pyodide, incomplete=False):
    """Write the folder; return (number of lessons, names of the packages that are missing)."""
    out = Path(out).resolve()
    check_place(out)
    if not KERNEL.is_dir():
        raise PublishError("JupyterLite is not installed: run `make lite`.")
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "source", Path(folder) / "made"
        hashes = write_contents(source / "contents")
        write_settings(source, pyodide)
        command = [bootstrap.python_in(LITE_VENV), "-m", "jupyterlite_core", "build", "--contents", source / "contents"]
        command += ["--output-dir", made, "--no-sourcemaps", "--no-unused-shared-packages"]
        command += ["--apps", "lab", "--apps", "notebooks"]
        done = subprocess.run(list(map(str, command)), cwd=source, capture_output=True, text=True)
        if done.returncode:
            raise PublishError("JupyterLite could not be built:\n" + done.stdout[-1000:] + done.stderr[-1000:])
        missing = write_python(pyodide, made, incomplete)
        replace_folder(made, out)
    lead_back(out, hashes)
    return len(hashes), missing


def main(arguments=None):
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["site"]
    parser = argparse.ArgumentParser(description="Build the lessons that run in a browser.")
    parser.add_argument("out", nargs="?", default=ROOT / "site" / "run", help="output folder (default: site/run/)")
    place = os.environ.get("PYODIDE_DIST") or settings["pyodide"]
    parser.add_argument(
        "--pyodide", default=place, help="address or folder of Pyodide, instead of that in pyproject.toml"
    )
    parser.add_argument("--incomplete", action="store_true", help="build even if Pyodide lacks packages, for a test")

    def build_lite(options):
        address = options.pyodide.startswith(("https://", "http://"))
        pyodide = options.pyodide.rstrip("/") + "/" if address else Path(options.pyodide).resolve()
        count, missing = build(options.out, pyodide, options.incomplete)
        without = f", without {', '.join(sorted(missing))}" if missing else ""
        return f"{count} lessons for the browser{without}"

    return run(build_lite, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main())
