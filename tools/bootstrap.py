"""Create or refresh the environments that `make` uses.

    python tools/bootstrap.py                    .venv, exactly as in requirements.lock
    python tools/bootstrap.py --extra browser    and one more group of pyproject.toml
    python tools/bootstrap.py --lowest           .venv-lowest, the lower bounds of pyproject.toml
    python tools/bootstrap.py --newest           .venv-newest, the newest packages it allows

.venv becomes equal to the lock whenever the lock has changed: packages installed by hand go, extras come again.
Only the standard library is used, because this runs before anything is installed, and only syntax that
Python 3.6 reads, so that an old Python can say that it is too old. What is missing is said in one sentence.
"""

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
VERSION = ".".join(str(number) for number in sys.version_info[:3])
AGAIN = "and run the command again"
# No question about news and no look for updates: JupyterLab here is the lock's, and may be projected.
QUIET_LAB = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}}
# What pip and uv say when they cannot reach a package index.
NETWORK = re.compile(
    r"NewConnectionError|ConnectTimeout|ReadTimeout|NameResolutionError|Failed to establish a new connection"
    r"|Temporary failure in name resolution|getaddrinfo failed|nodename nor servname|Network is unreachable"
    r"|No route to host|Connection refused|ProxyError|Tunnel connection failed|dns error"
    r"|error sending request|client error \(Connect\)|operation timed out|Could not connect|Connection reset",
    re.IGNORECASE,
)


class Stop(Exception):
    """Ends the program with one sentence that names the fix."""


def say(text):
    print(text, flush=True)


def read(*path):
    """A file's text, empty when there is none."""
    try:
        with open(os.path.join(*path), encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def write(text, *path):
    path = os.path.join(*path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def digest(name):
    return hashlib.sha256(read(ROOT, name).encode()).hexdigest()


def python_in(folder):
    return os.path.join(folder, *(("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")))


def environment(python):
    """The variables for pip and uv, without those that would send the packages elsewhere."""
    env = dict(os.environ)
    for name in ("PYTHONHOME", "PYTHONPATH", "PIP_TARGET", "PIP_PREFIX", "VIRTUAL_ENV", "CONDA_PREFIX"):
        env.pop(name, None)
    env.update(PIP_USER="0", PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_INPUT="1", UV_PYTHON_DOWNLOADS="never")
    if "PIP_CERT" in env:
        env.setdefault("SSL_CERT_FILE", env["PIP_CERT"])
    if "UV_DEFAULT_INDEX" not in env and "UV_INDEX_URL" not in env:
        # uv does not read pip's settings; a class or company that has a mirror has told pip.
        settings = run([python, "-m", "pip", "config", "list"], env)[1]
        index = re.search(r"^[^\n=]*\.index-url='([^'\n]+)'", settings, re.MULTILINE)
        if index:
            env["UV_DEFAULT_INDEX"] = index.group(1)
    return env


def run(command, env):
    """Run a command; return (worked, its output)."""
    done = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode == 0, done.stdout.decode("utf-8", "replace")


def last_words(output):
    """The last lines of a failed command; without a network, one sentence instead."""
    if NETWORK.search(output):
        what = "The packages could not be downloaded: connect this computer to the network"
        raise Stop(f"{what} (or set its proxy in HTTPS_PROXY) {AGAIN}.")
    return "\n".join("    " + line for line in output.strip().splitlines()[-5:])


def run_or_stop(command, env, what):
    worked, output = run(command, env)
    if not worked:
        raise Stop(f"{what}:\n{last_words(output)}\nMend that {AGAIN}.")


def requirements(extra=None):
    """The requirements of pyproject.toml, or those of one extra."""
    import tomllib

    project = tomllib.loads(read(ROOT, "pyproject.toml"))["project"]
    if extra is None:
        return project["dependencies"]
    if extra not in project["optional-dependencies"]:
        raise Stop(f"pyproject.toml has no extra {extra!r}, only {', '.join(project['optional-dependencies'])}.")
    return project["optional-dependencies"][extra]


def create(folder):
    """Make .venv with this Python, in place of what is there."""
    if find_spec("ensurepip") is None or find_spec("venv") is None:
        raise Stop(
            f"This Python ({sys.executable}) lacks the venv module: install it (on Debian and Ubuntu: "
            f"apt install python{sys.version_info[0]}.{sys.version_info[1]}-venv) {AGAIN}."
        )
    what = f"{sys.executable} could not make .venv (on Debian and Ubuntu: apt install python3-venv)"
    run_or_stop([sys.executable, "-m", "venv", "--clear", folder], None, what)


def works(python):
    """Whether this interpreter runs, is new enough and has pip, which an environment of another tool may lack."""
    return run([python, "-c", f"import pip, sys; sys.exit(sys.version_info < {OLDEST!r})"], None)[0]


def split_lock():
    """(uv's entry of the lock, all other entries)."""
    entries = re.split(r"^(?=\S)", read(ROOT, "requirements.lock"), flags=re.MULTILINE)
    of_uv = [entry for entry in entries if entry.startswith("uv==")]
    return "".join(of_uv), "".join(entry for entry in entries if entry not in of_uv)


def has_uv(folder, env):
    """Put uv into the environment, as the lock pins it; False when there is none for this computer."""
    python, path = python_in(folder), write(split_lock()[0], folder, "uv.txt")
    if run([python, "-m", "uv", "--version"], env)[0]:
        return True
    command = [python, "-m", "pip", "install", "--quiet", "--retries", "1", "--only-binary", ":all:"]
    worked, output = run(command + ["--require-hashes", "-r", path], env)
    return worked or not last_words(output)  # stops when the reason is the network


def install_lock(folder, env):
    python = python_in(folder)
    if has_uv(folder, env):
        say("Installing the packages of requirements.lock ...")
        command = [python, "-m", "uv", "pip", "sync", "--quiet", "--python", python, "--require-hashes"]
        worked, output = run(command + ["requirements.lock"], env)
        if worked:
            return
        say("uv could not install the packages:\n" + last_words(output))
    say("Installing the packages of requirements.lock with pip instead of uv, which takes a minute ...")
    path = write(split_lock()[1], folder, "without-uv.txt")
    command = [python, "-m", "pip", "install", "--retries", "1", "--require-hashes", "-r", path]
    run_or_stop(command, env, "pip could not install requirements.lock")


def default_environment(extra=None, this_python=False):
    """.venv as in requirements.lock. A stamp in it holds the lock's hash and the requirements of installed extras.

    It stays with the Python that made it; `this_python` makes it anew when that is another version than this one.
    """
    folder = os.path.join(ROOT, ".venv")
    python, wanted = python_in(folder), digest("requirements.lock")
    lock, *extras = read(folder, "lock.sha256").splitlines() or [""]
    made_with = re.search(r"^version(?:_info)? = (\d+\.\d+\.\d+)", read(folder, "pyvenv.cfg"), re.MULTILINE)
    trouble = "" if os.path.exists(python) else "is not there"
    if not trouble and this_python and made_with and made_with.group(1) != VERSION:
        trouble = f"was made with Python {made_with.group(1)}"
    elif not trouble and lock != wanted and not works(python):
        trouble = "does not work or is too old"
    if trouble:
        say(f".venv {trouble}; it is made with Python {VERSION} ...")
        create(folder)
        lock = ""
    missing = [] if extra is None else [line for line in requirements(extra) if line not in extras]
    if lock != wanted:
        write("\n".join(["interrupted", *extras]), folder, "lock.sha256")
        install_lock(folder, environment(python))
        write(json.dumps(QUIET_LAB), folder, "share", "jupyter", "lab", "settings", "overrides.json")
        write(wanted, folder, "lock.sha256")
        missing += extras
        extras = []
    if missing:
        say(f"Installing {', '.join(missing)} ...")
        env = environment(python)
        tool = ["uv", "pip", "install", "--python", python] if has_uv(folder, env) else ["pip", "install"]
        command = [python, "-m"] + tool + ["--quiet"] + missing
        run_or_stop(command, env, f"{', '.join(missing)} could not be installed")
        write("\n".join([wanted, *extras, *missing]), folder, "lock.sha256")
    return folder


def bounds_environment(which):
    """.venv-lowest: exactly the lower bounds of pyproject.toml, on the oldest Python that can be found.

    .venv-newest: the newest packages that exist, on this Python.
    """
    name = f".venv-{which}"
    folder, wanted = os.path.join(ROOT, name), digest("pyproject.toml")
    if os.path.exists(python_in(folder)) and read(folder, "bounds.sha256") == wanted:
        return
    default = default_environment()
    python = python_in(default)
    env = environment(python)
    if not has_uv(default, env):
        raise Stop(f"The environment {name} needs uv, which has no package for this computer: try another one {AGAIN}.")
    uv, oldest = [python, "-m", "uv"], "{}.{}".format(*OLDEST)
    make = uv + ["venv", "--quiet", "--clear", "--python"]
    if which == "newest" or not run(make + [oldest, folder], env)[0]:
        if which == "lowest":
            say(f"Python {oldest} was not found; {name} gets this Python.")
        run_or_stop(make + [sys.executable, folder], env, f"{name} could not be made")
    say(f"Installing the {which} packages that pyproject.toml allows ...")
    wishes = requirements()
    if which == "lowest":
        # Exactly the bounds: with >=, one that does not fit the others would be raised without a word.
        wishes = [line.replace(">=", "==") for line in wishes]
    command = uv + ["pip", "install", "--quiet", "--python", python_in(folder)] + wishes
    run_or_stop(command, env, f"The {which} packages could not be installed")
    write(wanted, folder, "bounds.sha256")


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Create or refresh the environments that make uses.")
    parser.add_argument("--extra", help="also install this extra of pyproject.toml")
    parser.add_argument("--this-python", action="store_true", help="make .venv anew if another Python made it")
    parser.add_argument("--lowest", action="store_true", help="make .venv-lowest with the lower bounds")
    parser.add_argument("--newest", action="store_true", help="make .venv-newest with the newest packages")
    options = parser.parse_args(arguments)
    try:
        if sys.version_info[:2] < OLDEST:
            raise Stop(
                f"Python {VERSION} ({sys.executable}) is too old: install Python {OLDEST[0]}.{OLDEST[1]} or newer, "
                f"or name one as in `make PYTHON=/path/to/python3 lab`, {AGAIN}."
            )
        if options.lowest or options.newest:
            bounds_environment("lowest" if options.lowest else "newest")
        else:
            default_environment(options.extra, options.this_python)
    except Stop as reason:
        print(reason, file=sys.stderr)
        return 1
    except OSError as error:
        what = f"The environment could not be written ({error.strerror or error}: {error.filename or ROOT})"
        print(f"{what}: make room or give yourself the right to write there {AGAIN}.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted: run the command again and it goes on.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
