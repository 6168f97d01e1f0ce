"""The house around the lessons: packages, documents, and the commands of the Makefile."""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "tools/classroom/README.md", "tools/classroom/teaching.md"]
MAKE = shutil.which("make")


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def bounds(lines):
    """{name: bound} of lines such as numpy>=2.0, which is the only form allowed."""
    return {name.lower(): bound for name, bound in (line.split(">=") for line in lines)}


def lock_entries():
    """{name: (version, text of the entry)} of requirements.lock."""
    found = re.findall(r"^([A-Za-z0-9._-]+)==(\S+)((?:.*\n)(?: .*\n)*)", text_of("requirements.lock"), re.MULTILINE)
    return {re.sub(r"[._]", "-", name.lower()): (version, entry) for name, version, entry in found}


def test_environment_yml_repeats_the_bounds_of_pyproject():
    conda = bounds(yaml.safe_load(text_of("environment.yml"))["dependencies"])
    assert ">=" + conda.pop("python") == PROJECT["requires-python"]
    assert conda == bounds(PROJECT["dependencies"]), "environment.yml and pyproject.toml: write the same bounds"


def test_the_lock_pins_every_package_with_hashes_and_names_no_host():
    assert len(lock_entries()) > 80
    assert [name for name, (_, entry) in lock_entries().items() if "--hash=sha256:" not in entry] == []
    assert not re.search(r"https?://|file://|index-url|find-links| @ ", text_of("requirements.lock"))


def test_the_lock_covers_what_pyproject_asks_for():
    entries = lock_entries()
    for requirement in map(Requirement, PROJECT["dependencies"] + PROJECT["optional-dependencies"]["author"]):
        version, _ = entries.get(requirement.name.lower().replace("_", "-"), ("0", ""))
        assert requirement.specifier.contains(Version(version)), f"{requirement}: run `make lock`"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_in_the_documents_lead_to_files(name):
    links = re.findall(r"\]\(([^)#:]+)\)", text_of(name)) + re.findall(r'src="([^":]+)"', text_of(name))
    assert [link for link in links if not (ROOT / name).parent.joinpath(link).exists()] == []


@pytest.mark.parametrize("name", [*DOCUMENTS, ".ci/run", ".github/workflows/notebooks.yml"])
def test_the_documents_name_only_commands_and_files_that_exist(name):
    commands = set(re.findall(r"^([a-z-]+):.*## ", text_of("Makefile"), re.MULTILINE))
    assert set(re.findall(r"(?:`|^\s*|run: )make ([a-z-]+)", text_of(name), re.MULTILINE)) <= commands
    files = re.findall(r"`((?:helpers|tests|tools|notebooks)/[\w/.-]+)`", text_of(name))
    assert [file for file in files if "17_new_words" not in file and not (ROOT / file).exists()] == []
    modules = re.findall(r"-m (tools[\w.]+)", text_of(name))
    assert [module for module in modules if not (ROOT / f"{module.replace('.', '/')}.py").is_file()] == []


@pytest.fixture
def house(tmp_path):
    """The Makefile in a folder with a space and an umlaut in its name, and a .venv that notes how it is called."""
    root = tmp_path / "a path with späces"
    (root / ".venv" / "bin").mkdir(parents=True)
    for name in ("Makefile", "requirements.lock"):
        shutil.copy(ROOT / name, root)
    python = root / ".venv" / "bin" / "python"
    python.write_text('#!/bin/sh\necho "$@" >>calls\n')
    python.chmod(0o755)
    (root / ".venv" / "locked").touch()
    return root


def run_make(root, *arguments):
    return subprocess.run([MAKE, *arguments], cwd=root, capture_output=True, text=True, stdin=subprocess.DEVNULL)


@pytest.mark.skipif(os.name == "nt" or MAKE is None, reason="needs make and a POSIX shell")
class TestMake:
    def test_alone_it_lists_the_commands_and_does_nothing(self, house):
        assert "make lab " in run_make(house).stdout
        assert not (house / "calls").exists()

    def test_its_commands_run_in_a_folder_with_spaces(self, house):
        assert run_make(house, "lint", "reset", "check", "notebooks", "LESSON=01").returncode == 0
        assert "-m tools.learner.workbook reset 01" in (house / "calls").read_text()

    def test_a_test_runs_the_lessons_only_if_the_unit_tests_pass(self, house):
        (house / ".venv" / "bin" / "python").write_text('#!/bin/sh\necho "$@" >>calls; exit 1\n')
        assert run_make(house, "test").returncode != 0
        assert "notebooks" not in (house / "calls").read_text()

    @pytest.mark.parametrize("script", [None, 'echo "3.8 is old" >&2; exit 1'], ids=["no Python", "an old Python"])
    def test_a_python_that_cannot_serve_is_one_sentence(self, house, script):
        shutil.rmtree(house / ".venv")
        python = house / "my-python"
        if script:
            python.write_text(f"#!/bin/sh\n{script}\n")
            python.chmod(0o755)
        said = run_make(house, "lab", "PYTHON=./my-python").stderr.splitlines()
        assert said[0].startswith("Python 3.11 or newer is needed: install it, or name one, as in make PYTHON=")
        assert len(said) == 2, "the second line is make's own"
