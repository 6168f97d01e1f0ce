"""A class on one machine: what a student's server does before it starts, and the hub's settings.

The hub itself, with scripted students, is tried in tests/classroom/. Where nbgitpuller is installed, it pulls here,
too; elsewhere a stand-in does, which merges as it does.
"""

import importlib.util
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import types
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(os.name == "nt" or shutil.which("git") is None, reason="needs git and a POSIX system")


def load(name, monkeypatch):
    """A fresh copy of a script in class/, as a module."""
    spec = importlib.util.spec_from_file_location(f"class_{name}", ROOT / "tools" / "classroom" / "hub" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def server(monkeypatch):
    """class/start_server.py, with nobody's own settings of git."""
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, os.devnull)
    path = list(sys.path)
    yield load("start_server", monkeypatch)
    sys.path[:] = path


def git(folder, *words):
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    done = subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def write_notebook(path, source):
    """A new notebook, or the one that is there with other code, as a student saves it."""
    if path.exists() and "cells" in (nb := json.loads(path.read_text(encoding="utf-8"))):
        nb["cells"][1]["source"] = source
        path.write_text(json.dumps(nb), encoding="utf-8")
        return
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# Title"), nbformat.v4.new_code_cell(source)])
    for n, cell in enumerate(nb.cells):
        cell.id = f"cell-{n}"
    path.parent.mkdir(exist_ok=True)
    nbformat.write(nb, path)


def code(path):
    return nbformat.read(path, as_version=4).cells[1].source


class Class:
    """A teacher's folder and a student's; `start()` is what happens before a server starts, and returns the news."""

    def __init__(self, server, folder):
        self.server, self.teacher, self.home = server, folder / "the teacher's", folder / "homes" / "änna b"
        self.home.mkdir(parents=True)
        self.lessons, self.workbook = self.home / "lessons", self.home / "lessons" / "workbook"
        self.originals = self.lessons / "notebooks"
        git(folder, "init", "--quiet", "--initial-branch=main", str(self.teacher))
        write_notebook(self.teacher / "notebooks" / "01_one.ipynb", "...")
        write_notebook(self.teacher / "notebooks" / "02_two.ipynb", "...")
        (self.teacher / ".gitignore").write_text("workbook/\n")
        (self.teacher / "helpers.py").write_text("first = 1\n\n\n\nlast = 1\n")
        self.push()

    def push(self, *words):
        git(self.teacher, "add", "--all")
        git(self.teacher, "commit", "--quiet", "--message=x", *words)

    def teach(self, lesson, source):
        write_notebook(self.teacher / "notebooks" / f"{lesson}.ipynb", source)
        self.push()

    def pull(self, folder):
        if importlib.util.find_spec("nbgitpuller"):
            self.server.pull_with_nbgitpuller(folder, str(self.teacher))
        elif not folder.exists():
            self.server.run(["git", "clone", "--quiet", str(self.teacher), str(folder)])
        else:
            me = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org"]
            for name in self.server.run(["git", "ls-files", "--deleted"], folder).split():
                self.server.run(["git", "checkout", "--quiet", "--", name], folder)
            self.server.run(["git", "fetch", "--quiet"], folder)
            self.server.run([*me, "commit", "--quiet", "--all", "--allow-empty", "--message=mine"], folder)
            self.server.run([*me, "merge", "--quiet", "-Xours", "@{upstream}"], folder)

    def start(self):
        trusted = []
        news = self.server.prepare(self.home, self.pull, lambda paths, say: trusted.extend(paths))
        self.trusted = sorted(path.name for path in trusted)
        return news


@pytest.fixture
def room(server, tmp_path):
    return Class(server, tmp_path)


# ------------------------------------------------------------------------------------------------- the update rule


def test_the_first_start_brings_trusted_copies(room):
    assert room.start() == ["Copied 2 lessons to workbook/; work there."]
    assert room.trusted == ["01_one.ipynb", "02_two.ipynb"]
    assert sorted(path.name for path in room.workbook.iterdir()) == room.trusted, "a first start is no news"
    assert room.start() == [] and room.trusted == ["01_one.ipynb", "02_two.ipynb"]


def test_answers_stay_when_the_teacher_changes_a_lesson(room):
    room.start()
    write_notebook(room.workbook / "01_one.ipynb", "my answer")
    room.teach("01_one", "new")
    news = room.start()
    assert code(room.workbook / "01_one.ipynb") == "my answer"
    assert code(room.originals / "01_one.ipynb") == "new"
    assert len(news) == 1 and "workbook/01_one.ipynb holds your answers and was kept" in news[0]
    assert (
        "`cd ~/lessons && python -m tools.learner.workbook reset 01` in a terminal" in news[0] and "make" not in news[0]
    )
    assert (room.workbook / "news.txt").read_text() == news[0] + "\n"


def test_the_command_in_the_news_really_runs(server, tmp_path):
    said = server.for_the_hub("`make reset LESSON=01`")
    for part in ("helpers", "notebooks", "tools"):
        shutil.copytree(ROOT / part, tmp_path / "lessons" / part, ignore=shutil.ignore_patterns("node_modules"))
    environment = server.environment({**os.environ, "HOME": str(tmp_path)}, tmp_path)
    command = ["bash", "-c", said.split("`")[1]]
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert list((tmp_path / "lessons" / "workbook").glob("01_*.ipynb"))


def test_an_untouched_copy_follows_and_old_news_go(room):
    room.start()
    room.teach("02_two", "new")
    assert room.start() == ["Updated, since you had not changed them: 02_two.ipynb"]
    assert code(room.workbook / "02_two.ipynb") == "new" and "02_two.ipynb" in room.trusted
    assert (room.workbook / "news.txt").exists()
    assert room.start() == [] and not (room.workbook / "news.txt").exists()


def test_a_new_lesson_arrives(room):
    room.start()
    room.teach("03_three", "new")
    assert room.start() == ["Copied 1 lesson to workbook/; work there."]
    assert code(room.workbook / "03_three.ipynb") == "new"


def test_a_students_own_lesson_gives_way_by_name(room):
    room.start()
    write_notebook(room.originals / "03_three.ipynb", "mine")
    room.start()
    room.teach("03_three", "new")
    room.start()
    assert code(room.originals / "03_three.ipynb") in ("new", "mine")
    assert "mine" in [code(path) for path in room.home.rglob("*03_three*.ipynb")]


@pytest.mark.parametrize("answered", [True, False])
def test_a_removed_lesson_stays_with_its_student(room, answered):
    room.start()
    if answered:
        write_notebook(room.workbook / "01_one.ipynb", "my answer")
    (room.teacher / "notebooks" / "01_one.ipynb").unlink()
    room.push()
    assert room.start() == []
    assert not (room.originals / "01_one.ipynb").exists()
    assert code(room.workbook / "01_one.ipynb") == ("my answer" if answered else "...")


def test_an_edited_original_stays_in_its_place(room):
    room.start()
    write_notebook(room.originals / "01_one.ipynb", "mine")
    room.teach("02_two", "new")
    room.start()
    assert code(room.originals / "01_one.ipynb") == "mine"
    assert code(room.originals / "02_two.ipynb") == "new"


@pytest.mark.parametrize("days_before", [0, 1])
def test_an_original_changed_by_both_moves_away(room, days_before):
    room.start()
    write_notebook(room.originals / "01_one.ipynb", "mine")
    for _ in range(days_before):
        room.start()
    room.teach("01_one", "new")
    news = room.start()
    assert news[0] == (
        "The teacher has changed notebooks/01_one.ipynb, and so have you; yours is workbook/01_mine-1_one.ipynb."
    )
    assert code(room.workbook / "01_mine-1_one.ipynb") == "mine"
    assert code(room.originals / "01_one.ipynb") == "new"
    write_notebook(room.originals / "01_one.ipynb", "mine again")
    room.teach("01_one", "newer")
    room.start()
    assert code(room.workbook / "01_mine-2_one.ipynb") == "mine again"
    assert code(room.workbook / "01_mine-1_one.ipynb") == "mine"
    assert room.start() == []


def test_a_renamed_copy_stays_beside_a_fresh_one(room):
    room.start()
    write_notebook(room.workbook / "01_one.ipynb", "my answer")
    (room.workbook / "01_one.ipynb").rename(room.workbook / "my one.ipynb")
    room.start()
    assert code(room.workbook / "my one.ipynb") == "my answer"
    assert code(room.workbook / "01_one.ipynb") == "..."


def test_broken_copies_are_kept_beside_fresh_ones(room):
    room.start()
    (room.workbook / "01_one.ipynb").write_text('{"cells": [')
    news = room.start()
    assert "could not be read; it is kept as 01_unreadable-1_one.ipynb" in news[0]
    assert code(room.workbook / "01_one.ipynb") == "..."


def test_the_teachers_next_change_replaces_a_broken_original(room):
    room.start()
    (room.originals / "01_one.ipynb").write_text('{"cells": [')
    assert "01_one.ipynb is damaged and was left out" in room.start()[0]
    room.teach("01_one", "new")
    room.start()
    assert code(room.originals / "01_one.ipynb") == code(room.workbook / "01_one.ipynb") == "new"
    assert (room.workbook / "01_mine-1_one.ipynb").read_text() == '{"cells": ['


def test_a_deleted_original_comes_back(room):
    room.start()
    (room.originals / "01_one.ipynb").unlink()
    room.start()
    assert code(room.originals / "01_one.ipynb") == "..."


def test_changes_to_other_files_are_merged(room):
    room.start()
    (room.lessons / "helpers.py").write_text("first = 'mine'\n\n\n\nlast = 1\n")
    (room.teacher / "helpers.py").write_text("first = 'theirs'\n\n\n\nlast = 2\n")
    room.push()
    room.start()
    assert (room.lessons / "helpers.py").read_text() == "first = 'mine'\n\n\n\nlast = 2\n"


# ------------------------------------------------------------------------------------------------- when it goes wrong


def test_unreachable_repositories_allow_no_first_start(room, server):
    room.teacher.rename(room.teacher.with_name("gone"))
    with pytest.raises(server.PullError):
        room.start()
    assert not room.lessons.exists()


def test_unreachable_repositories_leave_the_last_lessons(room):
    room.start()
    write_notebook(room.workbook / "01_one.ipynb", "my answer")
    room.teacher.rename(room.teacher.with_name("gone"))
    (said,) = room.start()
    assert said.startswith("The teacher's repository could not be reached; the lessons are those of the last start (")
    assert code(room.workbook / "01_one.ipynb") == "my answer"
    assert [path.name for path in room.home.iterdir()] == ["lessons"]


def test_a_silent_repository_is_asked_only_once(room, server, monkeypatch):
    room.start()
    calls = []

    def slow(command, folder=None):
        calls.append(command)
        raise server.TooSlow("no answer within 60 s")

    monkeypatch.setattr(server, "run", slow)
    (said,) = room.start()
    assert "did not answer; the lessons are those of the last start (no answer within 60 s)" in said
    assert len(calls) == 1


def test_a_command_out_of_time_is_ended_entirely(server, monkeypatch, tmp_path):
    monkeypatch.setattr(server, "PATIENCE", 0.5)
    with pytest.raises(server.TooSlow, match="no answer within 0.5 s"):
        server.run(["sh", "-c", "sleep 60 & echo $! > pid; wait"], tmp_path)
    # The pipe that both wrote to is closed by now, or run() would still be waiting for its end.
    done = subprocess.run(["ps", "-o", "stat=", "-p", (tmp_path / "pid").read_text().strip()], stdout=subprocess.PIPE)
    assert done.stdout.strip()[:1] in (b"", b"Z")


@pytest.mark.parametrize("damage", ["no .git", "an empty .git", "another history", "an amended commit"])
def test_a_stuck_clone_is_kept_and_made_again(room, monkeypatch, damage):
    room.start()
    write_notebook(room.workbook / "01_one.ipynb", "my answer")
    (room.lessons / "my file.txt").write_text("mine")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(room.home))
    git(room.home.parent, "init", "--quiet")  # a home folder may lie in somebody's repository
    if damage == "another history":
        git(room.teacher, "checkout", "--quiet", "--orphan", "other")
        git(room.teacher, "branch", "--quiet", "-D", "main")
        git(room.teacher, "branch", "--quiet", "-m", "main")
    elif damage != "an amended commit":
        shutil.rmtree(room.lessons / ".git")
        if damage == "an empty .git":
            (room.lessons / ".git").mkdir()
    write_notebook(room.teacher / "notebooks" / "02_two.ipynb", "new")
    room.push("--amend" if damage == "an amended commit" else "--quiet")
    news = room.start()
    assert news[0] == "The folder lessons could not be updated and was made again; the old one is lessons_kept-1."
    assert code(room.workbook / "01_one.ipynb") == "my answer"
    assert code(room.workbook / "02_two.ipynb") == "new"
    old = room.home / "lessons_kept-1"
    assert (old / "my file.txt").read_text() == "mine" and code(old / "workbook" / "01_one.ipynb") == "my answer"
    assert git(room.home.parent, "status", "--short", "--untracked-files=no") == ""
    assert room.start() == []


def test_an_interrupted_clone_is_begun_again(room):
    (room.home / ".lessons-new" / "half").mkdir(parents=True)
    room.start()
    assert [path.name for path in room.home.iterdir()] == ["lessons"]


def test_an_old_lock_of_a_start_blocks_nothing(room):
    room.start()
    (room.lessons / ".git" / "index.lock").touch()
    room.teach("02_two", "new")
    assert room.start() == ["Updated, since you had not changed them: 02_two.ipynb"]


def test_a_file_named_workbook_does_not_stop_servers(room):
    room.start()
    shutil.rmtree(room.workbook)
    room.workbook.write_text("mine")
    assert "lessons/workbook could not be brought up to date" in room.start()[-1]
    assert room.workbook.read_text() == "mine"


# ------------------------------------------------------------------------------------------------- the server


def test_the_server_finds_git_and_this_python(server, tmp_path):
    variables = server.environment({"PATH": "/bin"}, tmp_path)
    assert variables["PATH"].split(os.pathsep) == [str(Path(sys.executable).parent), "/bin"]
    assert variables["GIT_CEILING_DIRECTORIES"] == str(tmp_path)
    assert variables["GIT_TERMINAL_PROMPT"] == "0"
    assert variables["JUPYTER_CONFIG_PATH"] == str(ROOT / "tools" / "learner" / "jupyter")


def test_the_server_opens_home_and_prefers_workbook(server, tmp_path):
    assert server.arguments(["--x"], tmp_path) == [f"--ServerApp.root_dir={tmp_path}", "--x"]
    (tmp_path / "lessons" / "workbook").mkdir(parents=True)
    preferred = f"--FileContentsManager.preferred_dir={tmp_path / 'lessons' / 'workbook'}"
    assert server.arguments([], tmp_path) == [f"--ServerApp.root_dir={tmp_path}", preferred]


def test_a_server_without_repository_names_what_is_missing(tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "classroom" / "hub" / "start_server.py"],
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr == "CLASS_REPOSITORY is not set: it names the teacher's git repository.\n"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems count memory in other ways")
def test_a_process_out_of_memory_gets_an_error():
    script = (
        "import sys; from tools.classroom.hub import start_server; start_server.limit_memory(300 * 2**20)\n"
        "kept = bytearray(100 * 2**20)\n"
        "try: bytearray(400 * 2**20)\n"
        "except MemoryError: print('limited')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "limited\n", done.stderr


# ------------------------------------------------------------------------------------------------- the settings


class Setting(types.SimpleNamespace):
    """What traitlets gives to a configuration file: sections that appear when they are named."""

    def __getattr__(self, name):
        value = [] if name == "env_keep" else Setting()
        setattr(self, name, value)
        return value


@pytest.fixture
def configure(tmp_path, monkeypatch, room):
    """Run the configuration file with these variables; return what it sets."""
    folder = tmp_path / "a class {1}"
    folder.mkdir()
    shutil.copy(ROOT / "tools" / "classroom" / "hub" / "jupyterhub_config.py", folder)
    proxy = folder / "node_modules" / ".bin" / "configurable-http-proxy"
    proxy.parent.mkdir(parents=True)
    proxy.touch()
    for name in [name for name in os.environ if name.startswith("CLASS_")]:
        monkeypatch.delenv(name)

    def run(**variables):
        for name, value in ({"REPOSITORY": str(room.teacher), "PASSWORD": "long enough"} | variables).items():
            monkeypatch.setenv(f"CLASS_{name}", value)
        c = Setting()
        runpy.run_path(str(folder / "jupyterhub_config.py"), {"get_config": lambda: c})
        return c

    run.folder = folder
    return run


def test_the_hub_starts_a_whole_class_locally(configure):
    c = configure(SIZE="31")
    assert c.JupyterHub.bind_url == "http://127.0.0.1:8000"
    assert c.JupyterHub.hub_bind_url == "http://127.0.0.1:8002"
    assert c.ConfigurableHTTPProxy.api_url == "http://127.0.0.1:8001"
    assert c.JupyterHub.concurrent_spawn_limit == c.JupyterHub.active_server_limit == 31
    assert not any("idle" in word for word in c.Spawner.args)
    assert any("cull_idle_timeout=1800" in word for word in configure(IDLE_MINUTES="30").Spawner.args)


def test_the_hub_keeps_its_state_as_told(configure, tmp_path):
    c = configure()
    state = configure.folder / "state"
    assert c.JupyterHub.db_url == f"sqlite:///{state}/jupyterhub.sqlite"
    assert c.SimpleLocalProcessSpawner.home_dir_template.format(username="anna") == str(state / "homes" / "anna")
    assert state.stat().st_mode & 0o777 == 0o700
    assert configure(STATE=str(tmp_path / "s")).JupyterHub.cookie_secret_file == str(tmp_path / "s" / "cookie_secret")


def test_a_name_is_one_folder_in_the_state(configure):
    pattern = configure().Authenticator.username_pattern
    for name in ("anna", "müller", "o.neil-2", "anna@example.org"):
        assert re.match(pattern, name), name
    for name in ("", "anna b", "..", ".anna", "a/../../b", "a/b", "anna\n", "x" * 42):
        assert not re.match(pattern, name), name


def test_a_folder_is_a_repository_wherever_servers_start(configure, room, monkeypatch):
    monkeypatch.chdir(room.teacher.parent)
    c = configure(REPOSITORY=room.teacher.name)
    assert c.Spawner.environment["CLASS_REPOSITORY"] == str(room.teacher)


@pytest.mark.parametrize(
    "variables, sentence",
    [
        ({"REPOSITORY": ""}, r"CLASS_REPOSITORY is not set: run `make class CLASS_REPOSITORY=\.\.\.`"),
        ({"PASSWORD": ""}, "CLASS_PASSWORD is not set"),
        ({"PASSWORD": "short"}, "CLASS_PASSWORD is too short"),
        ({"REPOSITORY": "/no/such/folder"}, "CLASS_REPOSITORY=/no/such/folder cannot be read without a password: "),
        ({"BRANCH": "autumn"}, "cannot be read without a password: it has no branch autumn"),
        ({"SIZE": "thirty"}, "CLASS_SIZE=thirty is not a number above zero"),
        ({"IDLE_MINUTES": "0"}, "CLASS_IDLE_MINUTES=0 is not a number above zero"),
        ({"ADDRESS": "127.0.0.1"}, "CLASS_ADDRESS=127.0.0.1 is not an address with a port, as in http://127.0.0.1"),
    ],
)
def test_bad_settings_end_in_one_sentence(configure, variables, sentence):
    with pytest.raises(SystemExit, match=sentence) as stop:
        configure(**variables)
    assert "\n" not in str(stop.value)


def test_a_missing_proxy_ends_in_one_sentence(configure):
    shutil.rmtree(configure.folder / "node_modules")
    with pytest.raises(SystemExit, match="The proxy is not installed: run `npm ci` in tools/classroom/hub/"):
        configure()


def test_the_guide_and_settings_name_the_same_variables():
    guide, settings = (
        (ROOT / "tools" / "classroom" / "hub" / name).read_text() for name in ("README.md", "jupyterhub_config.py")
    )
    explained = set(re.findall(r"^    (CLASS_[A-Z_]+) {2,}", settings.split('"""')[1], re.MULTILINE))
    used = {f"CLASS_{name}" for name in re.findall(r"(?:setting|whole_number)\(\"([A-Z_]+)", settings)}
    assert explained == used | {"CLASS_BRANCH"}
    assert set(re.findall(r"CLASS_[A-Z_]+", guide)) <= explained
    links = re.findall(r"\]\(([^)#:]+)\)", guide)
    assert links and all((ROOT / "tools" / "classroom" / "hub" / link).exists() for link in links)
    headings = {heading.lower().replace(" ", "-") for heading in re.findall(r"^## (.*)", guide, re.MULTILINE)}
    assert set(re.findall(r"\]\(#([^)]+)\)", guide)) <= headings


def test_the_proxy_is_locked_without_a_host():
    lock = json.loads((ROOT / "tools" / "classroom" / "hub" / "package-lock.json").read_text())
    wanted = json.loads((ROOT / "tools" / "classroom" / "hub" / "package.json").read_text())["dependencies"]
    assert lock["packages"][""]["dependencies"] == wanted
    assert [name for name, entry in lock["packages"].items() if "resolved" in entry] == []
    assert all("integrity" in entry for name, entry in lock["packages"].items() if name)


# ------------------------------------------------------------------------------------------------- the load test


@pytest.mark.parametrize(
    "line, complete",
    [
        ("26 of 26 checks passed; exercises: 3 passed", True),
        ("25 of 26 checks passed; exercises: 3 passed", False),
        ("26 of 26 checks passed; exercises: 3 to do (my_a, my_b, my_c)", False),
        ("26 of 26 checks passed; exercises: 2 passed, 1 to do (my_a)", False),
        ("NameError: name 'x' is not defined", False),
        ("", False),
    ],
)
def test_the_load_test_knows_a_complete_summary(monkeypatch, line, complete):
    assert load("load_test", monkeypatch).is_complete(line) is complete


def test_the_load_test_answers_every_exercise(monkeypatch):
    nb = json.loads((ROOT / "notebooks" / "01_axis_intuition.ipynb").read_text(encoding="utf-8"))
    for cell in nb["cells"]:
        cell["source"] = "".join(cell["source"])
    mine = load("load_test", monkeypatch).answered(nb, "anna")
    exercises = [cell["source"] for cell in mine["cells"] if "exercise" in cell["metadata"].get("tags", [])]
    assert len(exercises) == 3
    assert all(source.startswith("# by anna\n") and "solution=True" not in source for source in exercises)
    assert all("check_exercise(" in source and "    ...\n" not in source for source in exercises)
    assert mine["cells"][-1]["source"] == "A note of anna."
