"""Open the lessons in JupyterLab: `make lab`, or `python -m tools.learner.lab` wherever the packages are installed.

The root of JupyterLab's file browser is the repository, so that a learner can read helpers/ and tests/ beside
the lessons; it opens in workbook/. What is written after the command goes to JupyterLab, as in `--port=9999`.
"""

import os
import subprocess
import sys
import webbrowser
from pathlib import Path

from tools.learner import workbook

ROOT = Path(__file__).resolve().parents[2]
FIRST = "00_start_here.ipynb"


def has_display(environ=None, platform=None):
    """Whether a browser can be expected to open on this machine."""
    environ = os.environ if environ is None else environ
    platform = sys.platform if platform is None else platform
    if environ.get("BROWSER"):
        return True
    if platform in ("win32", "darwin"):
        return "SSH_CONNECTION" not in environ
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def is_root():
    return hasattr(os, "geteuid") and os.geteuid() == 0


def command(arguments, *, root=ROOT, as_root=False, display=True):
    """The command line that starts JupyterLab; the caller's arguments come last and so win."""
    first = f"/{FIRST}" if (Path(root) / "workbook" / FIRST).exists() else ""
    line = [
        sys.executable,
        "-m",
        "jupyterlab",
        f"--ServerApp.root_dir={root}",
        f"--FileContentsManager.preferred_dir={Path(root) / 'workbook'}",
        f"--LabApp.default_url=/lab/tree/workbook{first}",
    ]
    if not any(word.startswith(("--log-level", "--debug")) for word in arguments):
        line.append("--log-level=WARN")  # the address is printed all the same
    if as_root and "--allow-root" not in arguments:
        line.append("--allow-root")
    if not display and "--no-browser" not in arguments:
        line.append("--no-browser")
    return line + list(arguments)


def environment(environ, root=ROOT):
    """The variables with which JupyterLab finds what is ours (jupyter/), before the learner's own settings."""
    ours = Path(root) / "tools" / "learner" / "jupyter"
    added = {
        # A kernel named python3 in the home folder must not take the place of this environment's.
        "JUPYTER_PREFER_ENV_PATH": "1",
        "JUPYTER_CONFIG_PATH": os.pathsep.join(filter(None, [str(ours), environ.get("JUPYTER_CONFIG_PATH")])),
        "PYTHONSTARTUP": str(ours / "startup.py"),
        "LESSONS_PYTHONSTARTUP": environ.get("PYTHONSTARTUP", ""),
    }
    return {**environ, **added}


def running_at(root=ROOT):
    """The address of a JupyterLab that shows these lessons already, or None."""
    from jupyter_server.serverapp import list_running_servers

    for server in list_running_servers():
        if Path(server["root_dir"]).resolve() == Path(root).resolve():
            return server["url"] + (f"lab?token={server['token']}" if server.get("token") else "lab")
    return None


def main(arguments):
    try:
        import jupyterlab  # noqa: F401
    except ImportError:
        print(
            f"JupyterLab is not installed for {sys.executable}: run `make lab`, or install requirements.lock first.",
            file=sys.stderr,
        )
        return 1
    try:
        workbook.trust(workbook.update(ROOT))
    except OSError as error:
        print(f"workbook/ could not be written ({error.strerror}: {error.filename}).", file=sys.stderr)
        return 1
    display = has_display()
    address = None if any(word.startswith("--port") for word in arguments) else running_at()
    if address:
        print(f"JupyterLab is already running with these lessons, at {address}")
        print("Your guesses belong to that address, so go on there. To stop it, press Ctrl-C in its terminal.")
        print('To start a second one, which does not show your guesses: make lab LAB_ARGS="--port=9999"')
        if display and "--no-browser" not in arguments:
            webbrowser.open(address)
        return 0
    line = command(arguments, as_root=is_root(), display=display)
    print("Starting JupyterLab; stop it with Ctrl-C.", flush=True)
    if "--no-browser" in line:
        print("Open the address that is printed below in a browser.", flush=True)
    return start(line)


def start(line):
    environ = environment(os.environ)
    if os.name == "nt":
        try:
            return subprocess.call(line, cwd=ROOT, env=environ)
        except KeyboardInterrupt:
            return 0
    os.chdir(ROOT)
    os.execve(line[0], line, environ)  # JupyterLab takes this process over, and with it Ctrl-C and its exit code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
