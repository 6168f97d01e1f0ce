"""Create or refresh the environments that `make` uses; the standard library is enough, in the syntax of Python 3.6."""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OLDEST = (3, 11)
VERSION = ".".join(map(str, sys.version_info[:3]))
# No question about news and no look for updates: JupyterLab here is the lock's, and may be projected.
QUIET_LAB = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}}
OFFLINE = (  # what pip and uv say when they cannot reach a package index
    "NewConnectionError|ConnectTimeout|ReadTimeout|NameResolutionError|Failed to establish a new connection|dns error|"
    "name resolution|getaddrinfo failed|nodename nor servname|Network is unreachable|No route to host|"
    "Connection refused|ProxyError|Tunnel connection|error sending request|client error .Connect|"
    "operation timed out|Connection reset"
)


class Stop(Exception):
    """Ends the program with one sentence that names the fix."""


def read(*path):
    try:
        with open(os.path.join(*path), encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def write(text, *path):
    os.makedirs(os.path.dirname(os.path.join(*path)), exist_ok=True)
    with open(os.path.join(*path), "w", encoding="utf-8") as file:
        file.write(text)


def python_in(folder):
    return os.path.join(folder, *(("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")))


def environment(python):
    """The variables for pip and uv, without those that send packages elsewhere; uv gets pip's mirror."""
    elsewhere = ("PYTHONHOME", "PYTHONPATH", "PIP_TARGET", "PIP_PREFIX", "VIRTUAL_ENV", "CONDA_PREFIX")
    env = {name: value for name, value in os.environ.items() if name not in elsewhere}
    env.update(PIP_USER="0", PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_INPUT="1", UV_PYTHON_DOWNLOADS="never")
    if "PIP_CERT" in env:
        env.setdefault("SSL_CERT_FILE", env["PIP_CERT"])
    mirror = re.search(r"^[^\n=]*\.index-url='([^'\n]+)'", run([python, "-m", "pip", "config", "list"], env)[1], re.M)
    if mirror and "UV_INDEX_URL" not in env:
        env.setdefault("UV_DEFAULT_INDEX", mirror.group(1))
    return env


def run(command, env):
    """Run a command; return (worked, its output)."""
    done = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode == 0, done.stdout.decode("utf-8", "replace")


def need(command, env, what):
    """Run a command that must work."""
    worked, output = run(command, env)
    if not worked and re.search(OFFLINE, output, re.I):
        what = "The packages could not be downloaded: connect this computer to the network"
        raise Stop(what + " (or set its proxy in HTTPS_PROXY) and run the command again.")
    if not worked:
        last = "\n".join("    " + line for line in output.strip().splitlines()[-5:])
        raise Stop(f"{what}:\n{last}\nFix that and run the command again.")


def requirements(extra=None):
    import tomllib

    project = tomllib.loads(read(ROOT, "pyproject.toml"))["project"]
    extras = project["optional-dependencies"]
    if extra and extra not in extras:
        raise Stop("pyproject.toml has no extra {!r}, only {}.".format(extra, ", ".join(extras)))
    return extras[extra] if extra else project["dependencies"]


def make_venv(folder):
    if find_spec("ensurepip") is None or find_spec("venv") is None:
        what = "This Python ({}) lacks the venv module: install it (on Debian and Ubuntu: apt install python{}.{}-venv)"
        raise Stop(what.format(sys.executable, *sys.version_info) + " and run the command again.")
    what = sys.executable + " could not make .venv (on Debian and Ubuntu: apt install python3-venv)"
    need([sys.executable, "-m", "venv", "--clear", folder], None, what)


def uv_in(folder):
    """(the command line of uv, put into the environment as the lock pins it; the variables it runs with)"""
    python = python_in(folder)
    env = environment(python)
    if not run([python, "-m", "uv", "--version"], env)[0]:
        lock = re.search(r"^uv==(?:.*\\\n)*.*\n", read(ROOT, "requirements.lock"), re.M)
        write(lock.group(0) if lock else "uv\n", folder, "uv.txt")
        pip = [python, "-m", "pip", "install", "--quiet", "--only-binary", "uv", "--require-hashes", "-r"]
        what = "uv, which installs the packages, has no version for this computer; README says how to go on without it"
        need(pip + [os.path.join(folder, "uv.txt")], env, what)
    return [python, "-m", "uv"], env


def default_environment(extra=None, this_python=False):
    """.venv as in requirements.lock; lock.sha256 in it holds the lock's hash and the installed extras' requirements."""
    folder = os.path.join(ROOT, ".venv")
    python, wanted = python_in(folder), hashlib.sha256(read(ROOT, "requirements.lock").encode()).hexdigest()
    lock, *extras = read(folder, "lock.sha256").splitlines() or [""]
    made = re.search(r"^version(?:_info)? = (\d+\.\d+\.\d+)", read(folder, "pyvenv.cfg"), re.M)
    works = f"import pip, sys; sys.exit(sys.version_info < {OLDEST})"
    trouble = "" if os.path.exists(python) else "is not there"
    if not trouble and this_python and made and made.group(1) != VERSION:
        trouble = "was made with Python " + made.group(1)
    if not trouble and lock != wanted and not run([python, "-c", works], None)[0]:
        trouble = "does not work or is too old"
    if trouble:
        print(f".venv {trouble}; it is made with Python {VERSION} ...", flush=True)
        make_venv(folder)
        lock = ""
    more = [line for line in (requirements(extra) if extra else []) if line not in extras]
    if lock == wanted and not more:
        return folder
    if lock != wanted:
        write("\n".join(["interrupted"] + extras), folder, "lock.sha256")
    uv, env = uv_in(folder)
    if lock != wanted:
        print("Installing the packages of requirements.lock ...", flush=True)
        sync = uv + ["pip", "sync", "--quiet", "--python", python, "--require-hashes", "requirements.lock"]
        need(sync, env, "The packages of requirements.lock could not be installed")
        write(json.dumps(QUIET_LAB), folder, "share", "jupyter", "lab", "settings", "overrides.json")
        more, extras = extras + more, []  # what the lock does not hold is gone now
    if more:
        print("Installing {} ...".format(", ".join(more)), flush=True)
        need(uv + ["pip", "install", "--quiet", "--python", python] + more, env, "The packages could not be installed")
    write("\n".join([wanted] + extras + more), folder, "lock.sha256")
    return folder


def other_environment(which):
    """.venv-lowest, on Python 3.11 if there is one; .venv-newest or .venv-lite, on this Python."""
    folder, wishes = os.path.join(ROOT, ".venv-" + which), requirements("lite" if which == "lite" else None)
    if which == "lowest":
        # Exactly the bounds: with >=, one that does not fit the others would be raised without a word.
        wishes = [line.replace(">=", "==") for line in wishes]
    if os.path.exists(python_in(folder)) and read(folder, "wishes.txt") == "\n".join(wishes):
        return
    uv, env = uv_in(default_environment())
    make = uv + ["venv", "--quiet", "--clear", "--python"]
    if which != "lowest" or not run(make + ["3.11", folder], env)[0]:
        need(make + [sys.executable, folder], env, f".venv-{which} could not be made")
    print(f"Installing the packages of .venv-{which} ...", flush=True)
    install = uv + ["pip", "install", "--quiet", "--python", python_in(folder)] + wishes
    need(install, env, f"The packages of .venv-{which} could not be installed")
    write("\n".join(wishes), folder, "wishes.txt")


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Create or refresh the environments that make uses.")
    parser.add_argument("--extra", help="also install this extra of pyproject.toml, now and after each new lock")
    parser.add_argument("--this-python", action="store_true", help="make .venv again if another Python made it")
    for which, what in (("lite", "JupyterLite"), ("lowest", "the lower bounds"), ("newest", "the newest packages")):
        parser.add_argument("--" + which, dest="other", action="store_const", const=which, help=what + ", apart")
    options = parser.parse_args(arguments)
    try:
        if sys.version_info[:2] < OLDEST:
            what = "Python {} ({}) is too old: install Python 3.11 or newer, or name one as in `make PYTHON="
            raise Stop(what.format(VERSION, sys.executable) + "/path/to/python3 lab`, and run the command again.")
        if options.other:
            other_environment(options.other)
        else:
            default_environment(options.extra, options.this_python)
    except Stop as reason:
        print(reason, file=sys.stderr)
        return 1
    except OSError as error:
        what = "The environment could not be written ({}: {}): free some space or allow yourself to write there"
        print(what.format(error.strerror, error.filename) + " and run the command again.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted: run the command again to continue.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
