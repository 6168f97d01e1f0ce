"""What the hub starts for a student, in place of `jupyterhub-singleuser`: the teacher's lessons first, then JupyterLab.

In the student's home folder, at every start:

    lessons/             the teacher's repository; nbgitpuller clones it, later it brings what the teacher has pushed
    lessons/workbook/    the student's copies, made, brought up to date and trusted by tools/learner/workbook.py

Nothing that a student has written is ever overwritten. A copy with answers stays. A lesson that both the student
and the teacher changed in lessons/notebooks/ moves to the workbook under a name of its own: merging two notebooks
line by line could leave no notebook at all. A clone that can no longer follow its original is kept whole under
another name. What happened stands in lessons/workbook/news.txt. When the teacher's repository cannot be reached,
the lessons are those of the last start.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[2]))  # a spawner starts this file from a folder of the student

from tools.learner import lab, workbook  # noqa: E402

NAME = "lessons"  # the clone in a student's home folder
NEWS = "news.txt"
PATIENCE = 60  # seconds for one command of git; the hub itself waits longer


class PullError(Exception):
    """The reason, in one line, why a clone was not made or not brought up to date."""


class TooSlow(PullError):
    """Nobody answered in time, so that trying again makes no sense."""


# ----------------------------------------------------------------------------------------------------
# Commands


def run(command, folder=None):
    """The command's output; PullError when it fails, TooSlow when it takes too long."""
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    process = subprocess.Popen(command, cwd=folder, start_new_session=True, **quiet)
    try:
        output = process.communicate(timeout=PATIENCE)[0].decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # git and what it has started
        process.communicate()
        raise TooSlow(f"no answer within {PATIENCE} s") from None
    if process.returncode:
        lines = [line for line in output.strip().splitlines() if "fatal" in line] or output.strip().splitlines()[-1:]
        raise PullError(lines[0] if lines else f"{command[0]} failed")
    return output


def pull_with_nbgitpuller(folder, address, branch=""):
    """Clone the repository into the folder, or bring the clone that is there up to date."""
    run([sys.executable, "-c", "from nbgitpuller.pull import main; main()", address, branch, str(folder)])


def names(text):
    """The paths in the output of a git command with -z."""
    return {name for name in text.split("\0") if name}


# ----------------------------------------------------------------------------------------------------
# The rule


def free_name(path, word):
    """The path with `word` and the first free number in its name: 02_mine-1_batch_dependence.ipynb, lessons_kept-1."""
    first, _, rest = path.stem.partition("_")
    n = 1
    while True:
        found = path.with_name("_".join(filter(None, [first, f"{word}-{n}", rest])) + path.suffix)
        if not found.exists():
            return found
        n += 1


def keep_edited_lessons(lessons, say):
    """Move each lesson that the student has changed in notebooks/, and the teacher too, to the workbook."""
    before = run(["git", "rev-parse", "@{upstream}"], lessons).strip()
    run(["git", "fetch", "--quiet"], lessons)
    # In a history that was rewritten, what the teacher took back would be merged as the student's: an error instead.
    run(["git", "merge-base", "--is-ancestor", before, "@{upstream}"], lessons)
    base = run(["git", "merge-base", "HEAD", "@{upstream}"], lessons).strip()
    changed = ["git", "diff", "-z", "--name-only", "--diff-filter=M", base]
    mine = names(run([*changed, "--", "notebooks"], lessons))
    theirs = names(run([*changed, "@{upstream}", "--", "notebooks"], lessons))
    for name in sorted(mine & theirs):
        file = lessons / name
        (lessons / "workbook").mkdir(exist_ok=True)
        aside = free_name(lessons / "workbook" / file.name, "mine")
        shutil.move(file, aside)
        run(["git", "checkout", "--quiet", "@{upstream}", "--", name], lessons)
        say(f"The teacher has changed {name}, and so have you; yours is workbook/{aside.name}.")


def clone(home, pull):
    """A fresh clone under a temporary name, so that an interrupted one never looks whole."""
    fresh = home / f".{NAME}-new"
    shutil.rmtree(fresh, ignore_errors=True)
    pull(fresh)
    return fresh


def fetch(home, pull, say):
    """Make home/lessons what the teacher has pushed, with what the student has added; PullError if there is none."""
    lessons = home / NAME
    if not lessons.exists():
        os.replace(clone(home, pull), lessons)
        return
    try:
        (lessons / ".git" / "index.lock").unlink(missing_ok=True)  # of an interrupted start: no other git runs here
        keep_edited_lessons(lessons, say)
        pull(lessons)
        return
    except (PullError, OSError) as reason:
        old = f"the lessons are those of the last start ({reason})"
        if isinstance(reason, TooSlow):
            say(f"The teacher's repository did not answer; {old}.")
            return
    # Unreachable, or this clone is damaged, or the teacher has rewritten the history.
    try:
        fresh = clone(home, pull)
    except PullError:
        say(f"The teacher's repository could not be reached; {old}.")
        return
    if (lessons / "workbook").is_dir():
        shutil.copytree(lessons / "workbook", fresh / "workbook")
    kept = free_name(lessons, "kept")
    os.replace(lessons, kept)
    os.replace(fresh, lessons)
    say(f"The folder {NAME} could not be updated and was made again; the old one is {kept.name}.")


def for_the_hub(line):
    """What workbook.py says, with the command that works here: there is no `make` environment in a clone."""
    return re.sub(
        r"`make reset LESSON=(\w+)`", rf"`cd ~/{NAME} && python -m tools.learner.workbook reset \1` in a terminal", line
    )


def prepare(home, pull, trust=workbook.trust):
    """Bring lessons and copies up to date; return what is to be said. PullError when there are no lessons at all."""
    home, news = Path(home), []
    lessons = home / NAME
    is_first = not lessons.exists()
    fetch(home, pull, news.append)
    try:
        trust(workbook.update(lessons, lambda line: news.append(for_the_hub(line))), news.append)
        file = lessons / "workbook" / NEWS
        if news and not is_first:
            file.write_text("\n".join(news) + "\n", encoding="utf-8")
        else:
            file.unlink(missing_ok=True)
    except OSError as error:  # a full disk, a file in the workbook's place: the server starts all the same
        news.append(f"{NAME}/workbook could not be brought up to date ({error.strerror}: {error.filename}).")
    return news


# ----------------------------------------------------------------------------------------------------
# The server


def environment(environ, home):
    """The variables for git, for the server and for the student's terminals."""
    added = {
        # A damaged clone must not be taken for part of a repository in which the home folder may lie.
        "GIT_CEILING_DIRECTORIES": str(home),
        "GIT_TERMINAL_PROMPT": "0",  # nobody is there to type a password
        "GIT_SSH_COMMAND": environ.get("GIT_SSH_COMMAND", "ssh -o BatchMode=yes"),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), environ.get("PATH", os.defpath)]),
    }
    return lab.environment({**environ, **added}, HERE.parents[2])


def limit_memory(bytes_each):
    """No process of this student, server or kernel, gets more; what asks for more sees a MemoryError."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (bytes_each, bytes_each))
    except (ImportError, OSError, ValueError) as error:
        print(f"This system sets no memory limit: {error}", file=sys.stderr)


def arguments(words, home):
    """The arguments for JupyterLab: the hub's, after ours."""
    ours = [f"--ServerApp.root_dir={home}"]
    if (home / NAME / "workbook").is_dir():
        ours.append(f"--FileContentsManager.preferred_dir={home / NAME / 'workbook'}")
    return [*ours, *words]


def main(words):
    home, student = Path.home(), os.environ.get("JUPYTERHUB_USER", "student")
    os.environ.update(environment(os.environ, home))
    address, branch = os.environ.get("CLASS_REPOSITORY", ""), os.environ.get("CLASS_BRANCH", "")
    if not address:
        print("CLASS_REPOSITORY is not set: it names the teacher's git repository.", file=sys.stderr)
        return 2
    if os.environ.get("MEM_LIMIT", "").isdigit():
        limit_memory(int(os.environ["MEM_LIMIT"]))
    try:
        news = prepare(home, lambda folder: pull_with_nbgitpuller(folder, address, branch))
    except PullError as reason:
        print(f"{student}: no lessons, since {address} could not be cloned: {reason}", file=sys.stderr, flush=True)
        return 1
    for line in news:
        print(f"{student}: {line}", file=sys.stderr, flush=True)
    # In this process, which has loaded half of the server's modules by now, and so starts a second sooner.
    from jupyterhub.singleuser import main as serve

    sys.argv = ["jupyterhub-singleuser", *arguments(words, home)]
    return serve()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
