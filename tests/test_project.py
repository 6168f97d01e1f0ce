"""The house around the lessons: commands, environment, documents, a new lesson."""

import ast
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

from tests.shared import load_tool

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MAKE = shutil.which("make")
posix = pytest.mark.skipif(os.name == "nt" or MAKE is None, reason="needs make and a POSIX shell")


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


# ---------------------------------------------------------------------------------------------- the environment


def lower_bounds(lines):
    """{name: bound} of lines such as numpy>=2.0, which is the only form allowed."""
    matches = [re.fullmatch(r"([A-Za-z0-9_-]+)>=([0-9.]+)", line) for line in lines]
    assert all(matches), lines
    return {match[1].lower(): match[2] for match in matches}


def test_environment_yml_repeats_the_bounds_of_pyproject():
    conda = lower_bounds(yaml.safe_load(text_of("environment.yml"))["dependencies"])
    assert ">=" + conda.pop("python") == PYPROJECT["project"]["requires-python"]
    assert conda == lower_bounds(PYPROJECT["project"]["dependencies"])


def lock_entries():
    """{name: (version, text of the entry)} of requirements.lock."""
    entries = {}
    for part in re.split(r"\n(?=[A-Za-z0-9])", text_of("requirements.lock")):
        name, version = re.match(r"([A-Za-z0-9._-]+)==(\S+)", part).groups()
        entries[re.sub(r"[._]", "-", name.lower())] = (version, part)
    return entries


def test_the_lock_pins_every_package_with_hashes():
    entries = lock_entries()
    assert len(entries) > 80
    assert [name for name, (_, part) in entries.items() if "--hash=sha256:" not in part] == []


def test_the_lock_names_no_host():
    assert (
        re.search(r"https?://|file://|--index-url|--find-links|--extra-index-url| @ ", text_of("requirements.lock"))
        is None
    )


@pytest.mark.parametrize("group", ["dependencies", "author"])
def test_the_lock_covers_what_pyproject_asks_for(group):
    project = PYPROJECT["project"]
    wanted = project["dependencies"] if group == "dependencies" else project["optional-dependencies"][group]
    entries = lock_entries()
    for requirement in map(Requirement, wanted):
        name = requirement.name.lower().replace("_", "-")
        assert name in entries, f"{name}: run `make lock`"
        assert requirement.specifier.contains(Version(entries[name][0])), f"{name}: run `make lock`"


def test_the_lock_leaves_out_the_browser():
    assert "playwright" not in lock_entries()
    assert "--extra browser" in text_of("Makefile")


# -------------------------------------------------------------------------------------------------- the documents


def test_the_readme_links_all_existing_lessons():
    linked = set(re.findall(r"\]\(notebooks/([^)]+[.]ipynb)\)", text_of("README.md")))
    assert linked == {path.name for path in (ROOT / "notebooks").glob("*.ipynb")}


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_links_in_the_documents_lead_to_files(name):
    links = re.findall(r"\]\(([^)#:]+)\)", text_of(name)) + re.findall(r'src="([^":]+)"', text_of(name))
    assert [link for link in links if not (ROOT / link).exists()] == []


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", ".ci/run"])
def test_the_documents_name_only_commands_that_exist(name):
    targets = set(re.findall(r"^([a-z-]+):.*## ", text_of("Makefile"), re.MULTILINE))
    named = set(re.findall(r"(?:`|^|\s{4}|s |\d )make ([a-z-]+)", text_of(name), re.MULTILINE)) - {"and"}
    assert {"test", "lint", "test-lowest", "test-browser"} <= named
    assert named <= targets


def test_the_license_is_mit():
    assert text_of("LICENSE").startswith("MIT License")
    assert "Normalization Notebooks contributors" in text_of("LICENSE")


def test_the_top_of_the_repository_holds_nothing_unexpected():
    expected = {
        *("README.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "environment.yml", "pyproject.toml"),
        *("CHANGELOG.md", "CITATION.cff", "CODE_OF_CONDUCT.md"),
        *("requirements.lock", ".gitignore", ".ci", ".github", "helpers", "notebooks", "tests", "tools"),
    }
    made = re.compile(
        r"\.git|\.venv.*|workbook|editing|site|teaching|assignments|submissions.*|__pycache__|\.\w+_cache|\.hypothesis"
        r"|\.ipynb_checkpoints|\.idea|\.vscode"
    )
    found = {path.name for path in ROOT.iterdir() if not made.fullmatch(path.name)}
    assert found - expected == set()
    assert expected - found == set()


def pytest_options(text):
    """The options of the pytest call in a Makefile, workflow or README."""
    call = re.search(r"-m pytest (tests notebooks(?:[^\n]*\\\n)*[^\n]*(?:\n\s+-n [^\n]*)?)", text)[1]
    return [word for word in call.replace("\\\n", " ").split() if not word.startswith("--durations") and word != "\\"]


def test_readme_and_workflow_test_as_make_does():
    options = pytest_options(text_of("Makefile"))
    assert "--nbval" in options and "loadscope" in options
    assert pytest_options(text_of("README.md")) == options
    workflow = text_of(".github/workflows/notebooks.yml")
    assert workflow.count("-m pytest") == 2
    for part in workflow.split("-m pytest")[1:]:
        assert pytest_options("-m pytest" + part) == options


def test_the_workflow_runs_weekly_with_read_rights():
    workflow = yaml.safe_load(text_of(".github/workflows/notebooks.yml"))
    matrix = workflow["jobs"]["test"]["strategy"]["matrix"]
    assert workflow["permissions"] == {"contents": "read"}
    assert {system.split("-")[0] for system in matrix["os"]} == {"ubuntu", "macos", "windows"}
    assert min(matrix["python"], key=Version) == PYPROJECT["project"]["requires-python"].lstrip(">=")
    assert {"lowest", "newest"} <= {entry["packages"] for entry in matrix["include"]}
    assert len(workflow[True]["schedule"]) == 1  # YAML reads the key `on` as true


@posix
def test_ci_runs_the_readmes_test_command_first():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", script], check=True)
    steps = re.findall(r"^ *run .*? \d+ make ([a-z-]+)", script.read_text(encoding="utf-8"), re.MULTILINE)
    assert steps[0] == "test"
    assert {"lint", "test-lowest", "test-anywhere", "test-browser"} <= set(steps)


# ------------------------------------------------------------------------------------------------------- make


@pytest.fixture
def house(tmp_path):
    """The commands in a folder with a space and an umlaut in its name, and a stub .venv that notes its calls."""
    root = tmp_path / "a path with späces"
    shutil.copytree(ROOT / "tools", root / "tools", ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, root)
    for folder in (".venv", ".venv-lowest"):
        python = root / folder / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text('#!/bin/sh\nfor a in "$0" "$@"; do echo "$a" >>calls; done\n')
        python.chmod(0o755)
    lock = hashlib.sha256((root / "requirements.lock").read_bytes()).hexdigest()
    (root / ".venv" / "lock.sha256").write_text(lock)
    bounds = [line.replace(">=", "==") for line in PYPROJECT["project"]["dependencies"]]
    (root / ".venv-lowest" / "wishes.txt").write_text("\n".join(bounds))
    return root


def run_make(root, *arguments, path=None, **environ):
    env = {"HOME": str(root), "PATH": os.environ["PATH"] if path is None else str(path), **environ}
    return subprocess.run(
        [MAKE, *arguments],
        cwd=root,
        env=env,
        capture_output=True,
        text=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
    )


def calls(root):
    return (root / "calls").read_text(encoding="utf-8").splitlines()


@posix
def test_make_alone_lists_every_command(house):
    result = run_make(house)
    targets = set(re.findall(r"^([a-z-]+):", text_of("Makefile"), re.MULTILINE))
    listed = dict(line.split(maxsplit=2)[1:] for line in result.stdout.splitlines())
    assert set(listed) == targets
    assert all(listed.values())
    assert not (house / "calls").exists()


@posix
@pytest.mark.parametrize(
    "target",
    [
        "check",
        "lab",
        "test",
        "notebooks",
        "lint",
        "test-lowest",
        "bench",
        "reset",
        "assignment",
        "grade",
    ],
)
def test_make_runs_modules_in_folders_with_spaces(house, target):
    result = run_make(house, target, f"PYTHON={sys.executable}", "LESSON=01")
    assert result.returncode == 0, result.stderr
    said = calls(house)
    assert said[0] == (".venv-lowest/bin/python" if target == "test-lowest" else ".venv/bin/python")
    assert said[1] == "-m" or said[1].startswith("tools/")
    assert not any(str(house) in word for word in said)


@posix
def test_make_test_is_one_strict_pytest_call(house):
    result = run_make(house, "test", f"PYTHON={sys.executable}")
    assert calls(house).count("pytest") == 1
    assert "HELPERS_STRICT=1 OMP_NUM_THREADS=1 .venv/bin/python -m pytest tests notebooks --nbval" in result.stdout


def fake_python(folder, name, script):
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return folder


@posix
def test_no_python_is_said_in_one_sentence(house):
    (house / "nothing").mkdir()
    result = run_make(house, "lab", path=house / "nothing")
    assert result.returncode != 0
    assert result.stderr.splitlines()[0].startswith("No Python was found: install Python 3.11 or newer")
    assert "Traceback" not in result.stderr


@posix
def test_a_python_that_cannot_run_is_skipped(house):
    fakes = fake_python(house / "fakes", "python3.13", 'echo "command not found" >&2; exit 127')
    fake_python(fakes, "python3.12", f'exec "{sys.executable}" "$@"')
    result = run_make(house, "env", path=fakes)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@posix
def test_an_old_python_says_it_is_too_old(house):
    old = "import sys, runpy; sys.version_info = (3, 8, 10); sys.argv = sys.argv[1:]; "
    old += "runpy.run_path(sys.argv[0], run_name='__main__')"
    script = f'[ "$1" = -c ] && {{ [ -z "$2" ]; exit $?; }}\nexec "{sys.executable}" -c "{old}" "$@"'
    fakes = fake_python(house / "fakes", "python3", script)
    result = run_make(house, "test", path=fakes)
    assert result.returncode != 0
    assert re.match(r"Python 3\.8\.10 \(.*\) is too old: install Python 3\.11 or newer", result.stderr)
    assert "Traceback" not in result.stderr


def test_an_old_python_can_read_the_bootstrap():
    ast.parse(text_of("tools/bootstrap.py"), feature_version=(3, 6))


# -------------------------------------------------------------------------------------------------- bootstrap


OFFLINE = "WARNING: Retrying ... NewConnectionError('Failed to establish a new connection: [Errno -3] ...')\n"


@pytest.fixture
def bootstrap(tmp_path, monkeypatch):
    """The module in a tree of its own; `bootstrap.commands` are those it ran, answered by `bootstrap.answer`."""
    shutil.copytree(ROOT / "tools", tmp_path / "tools", ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
    for name in ("requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    module = load_tool("bootstrap", tmp_path)
    module.root, module.commands, module.answer = tmp_path, [], lambda command: (True, "")

    def run(command, env):
        words = [str(word) for word in command]
        if "-r" in words and Path(words[-1]).is_file():
            words.append(Path(words[-1]).read_text(encoding="utf-8"))
        module.commands.append(words)
        if "venv" in words:
            folder = Path(words[-1])
            python = Path(module.python_in(str(folder)))
            python.parent.mkdir(parents=True, exist_ok=True)
            python.touch()
        return module.answer(words)

    monkeypatch.setattr(module, "run", run)
    monkeypatch.setattr(module, "environment", lambda python: {})
    return module


def test_the_environment_is_made_from_hashes_once(bootstrap, capsys):
    assert bootstrap.main([]) == 0
    install = bootstrap.commands[-1]
    assert install[1:5] == ["-m", "uv", "pip", "sync"] and "--require-hashes" in install
    assert (bootstrap.root / ".venv" / "lock.sha256").is_file()
    settings = bootstrap.root / ".venv" / "share" / "jupyter" / "lab" / "settings" / "overrides.json"
    assert json.loads(settings.read_text())["@jupyterlab/apputils-extension:notification"]["fetchNews"] == "false"
    bootstrap.commands.clear()
    capsys.readouterr()
    assert bootstrap.main([]) == 0
    assert bootstrap.commands == []
    assert capsys.readouterr().out == ""


def test_a_changed_lock_updates_the_existing_environment(bootstrap):
    bootstrap.main([])
    bootstrap.commands.clear()
    with open(bootstrap.root / "requirements.lock", "a") as file:
        file.write("# changed\n")
    assert bootstrap.main([]) == 0
    assert not any("venv" in command for command in bootstrap.commands)
    assert "--require-hashes" in bootstrap.commands[-1]


def test_uv_comes_pinned_with_hashes(bootstrap):
    bootstrap.answer = lambda command: (command[1:4] != ["-m", "uv", "--version"], "")
    assert bootstrap.main([]) == 0
    (command,) = [c for c in bootstrap.commands if c[1:4] == ["-m", "pip", "install"]]
    entry = command[-1]
    assert "--require-hashes" in command
    assert entry.startswith(f"uv=={lock_entries()['uv'][0]} ") and entry.count("==") == 1
    assert "--hash=sha256:" in entry


def test_uvs_failures_show_its_last_words(bootstrap, capsys):
    bootstrap.answer = lambda command: (command[1:4] != ["-m", "uv", "pip"], "invalid peer certificate")
    assert bootstrap.main([]) == 1
    said = capsys.readouterr().err
    assert "The packages of requirements.lock could not be installed" in said and "invalid peer certificate" in said


@pytest.mark.parametrize("fails", ["uv with pip", "the packages with uv"])
def test_no_network_is_said_in_one_sentence(bootstrap, capsys, fails):
    def offline(command):
        if fails == "uv with pip":
            return ("venv" in command or "--clear" in command), OFFLINE
        return command[1:4] != ["-m", "uv", "pip"], "error: client error (Connect)\n  dns error"

    bootstrap.answer = offline
    assert bootstrap.main([]) == 1
    out, err = capsys.readouterr()
    said = err.strip().splitlines()
    assert len(said) == 1 and said[0].startswith("The packages could not be downloaded: connect this computer")
    assert "pip" not in out, "what cannot be reached with one tool is not tried with the other"
    assert bootstrap.read(str(bootstrap.root / ".venv" / "lock.sha256")) == "interrupted"


def test_a_missing_venv_module_is_named(bootstrap, capsys, monkeypatch):
    monkeypatch.setattr(bootstrap, "find_spec", lambda name: None if name == "ensurepip" else name)
    assert bootstrap.main([]) == 1
    said = capsys.readouterr().err.strip().splitlines()
    assert len(said) == 1 and "lacks the venv module" in said[0]
    assert f"apt install python3.{sys.version_info[1]}-venv" in said[0]
    assert bootstrap.commands == []


def test_an_interrupted_installation_is_begun_again(bootstrap, monkeypatch):
    def interrupt(command):
        raise KeyboardInterrupt

    good, bootstrap.answer = bootstrap.answer, interrupt
    assert bootstrap.main([]) == 130
    bootstrap.answer = good
    assert bootstrap.main([]) == 0
    assert (bootstrap.root / ".venv" / "lock.sha256").is_file()


def test_a_broken_environment_is_made_anew(bootstrap, capsys):
    bootstrap.write("", bootstrap.python_in(str(bootstrap.root / ".venv")))
    bootstrap.answer = lambda command: (command[1] != "-c", "")
    assert bootstrap.main([]) == 0
    assert ".venv does not work or is too old; it is made with Python 3." in capsys.readouterr().out
    assert ["-m", "venv", "--clear"] in [command[1:4] for command in bootstrap.commands]


@pytest.mark.parametrize("made_with", ["3.11.0", None])
def test_naming_another_python_remakes_the_environment(bootstrap, capsys, made_with):
    bootstrap.main([])
    bootstrap.write(f"version = {made_with or bootstrap.VERSION}", str(bootstrap.root / ".venv" / "pyvenv.cfg"))
    bootstrap.commands.clear()
    capsys.readouterr()
    assert bootstrap.main([]) == 0 and bootstrap.commands == [], "one that is only found does not"
    assert bootstrap.main(["--this-python"]) == 0
    said = capsys.readouterr().out
    assert (f".venv was made with Python {made_with}; it is made with" in said) == (made_with is not None)
    assert any("venv" in command for command in bootstrap.commands) == (made_with is not None)


def test_the_lowest_environment_holds_exactly_the_lower_bounds(bootstrap):
    assert bootstrap.main(["--lowest"]) == 0
    wanted = bootstrap.commands[-1][-len(PYPROJECT["project"]["dependencies"]) :]
    assert wanted == [line.replace(">=", "==") for line in PYPROJECT["project"]["dependencies"]]


def test_an_extra_is_installed_once(bootstrap):
    assert bootstrap.main(["--extra", "browser"]) == 0
    assert bootstrap.commands[-1][-1] == PYPROJECT["project"]["optional-dependencies"]["browser"][0]
    bootstrap.commands.clear()
    assert bootstrap.main(["--extra", "browser"]) == 0
    assert bootstrap.commands == []


def test_an_extra_returns_with_a_changed_lock(bootstrap):
    """`uv pip sync` takes away what the lock does not hold."""
    bootstrap.main(["--extra", "browser"])
    (bootstrap.root / "requirements.lock").write_text("numpy==2.4.0\n")
    bootstrap.commands.clear()
    assert bootstrap.main([]) == 0
    installs = [command[4:] for command in bootstrap.commands if command[1:4] == ["-m", "uv", "pip"]]
    assert [words[0] for words in installs] == ["sync", "install"]
    assert installs[1][-1] == PYPROJECT["project"]["optional-dependencies"]["browser"][0]
    bootstrap.commands.clear()
    assert bootstrap.main(["--extra", "browser"]) == 0 and bootstrap.commands == []


def test_an_unknown_extra_names_those_that_exist(bootstrap, capsys):
    assert bootstrap.main(["--extra", "browsr"]) == 1
    assert "no extra 'browsr', only author, browser" in capsys.readouterr().err


def test_names_of_tests_have_at_most_eight_words():
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")]
    names = [name for text in texts for name in re.findall(r"^ *def test_(\w+)", text, re.MULTILINE)]
    assert [name for name in names if len(name.split("_")) > 8] == []
