"""Create or refresh the environments that `make` uses.

    python tools/bootstrap.py                    .venv, exactly as in requirements.lock
    python tools/bootstrap.py --extra browser    and one more group of pyproject.toml
    python tools/bootstrap.py --lowest           .venv-lowest, the lower bounds of pyproject.toml
    python tools/bootstrap.py --newest           .venv-newest, the newest packages it allows

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
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OLDEST = (3, 11)
AGAIN = "and run the command again"

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


# ----------------------------------------------------------------------------------------------------
# What this Python can do


def require_python(version=None, executable=None):
    version = tuple(version or sys.version_info[:3])
    if version[:2] < OLDEST:
        found = "Python {} ({})".format(".".join(str(n) for n in version), executable or sys.executable)
        raise Stop(
            f"{found} is too old: install Python {OLDEST[0]}.{OLDEST[1]} or newer, or name one as in "
            f"`make PYTHON=/path/to/python3 lab`, {AGAIN}."
        )


def require_venv():
    """Debian and Ubuntu split `ensurepip` off into a package of its own."""
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        raise Stop(
            f"This Python ({sys.executable}) lacks the venv module: install it (on Debian and Ubuntu: "
            f"apt install python{sys.version_info[0]}.{sys.version_info[1]}-venv) {AGAIN}."
        ) from None


# ----------------------------------------------------------------------------------------------------
# Small helpers


def say(text):
    print(text, flush=True)


def python_in(folder):
    """The interpreter of the environment in `folder`."""
    if os.name == "nt":
        return os.path.join(folder, "Scripts", "python.exe")
    return os.path.join(folder, "bin", "python")


def digest(*names):
    """One hash over the named files of the repository."""
    total = hashlib.sha256()
    for name in names:
        with open(os.path.join(ROOT, name), "rb") as file:
            total.update(file.read())
    return total.hexdigest()


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def environment(python):
    """The variables for pip and uv, without those that would send the packages elsewhere."""
    env = dict(os.environ)
    for name in ("PYTHONHOME", "PYTHONPATH", "PIP_TARGET", "PIP_PREFIX", "VIRTUAL_ENV", "CONDA_PREFIX"):
        env.pop(name, None)
    env.update(PIP_USER="0", PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_INPUT="1", UV_PYTHON_DOWNLOADS="never")
    if "PIP_CERT" in env:
        env.setdefault("SSL_CERT_FILE", env["PIP_CERT"])
    if not any(name in env for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL")):
        # uv does not read pip's settings; a class or company that has a mirror has told pip.
        settings = subprocess.run(
            [python, "-m", "pip", "config", "list"],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ).stdout.decode("utf-8", "replace")
        index = re.search(r"^[^\n=]*\.index-url='([^'\n]+)'", settings, re.MULTILINE)
        if index:
            env["UV_DEFAULT_INDEX"] = index.group(1)
    return env


def run(command, env, quiet=True):
    """Run a command; return (worked, its output). Not quiet: what it writes is shown while it writes it."""
    process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = []
    for line in process.stdout:
        text = line.decode("utf-8", "replace")
        lines.append(text)
        if not quiet:
            sys.stdout.write(text)
            sys.stdout.flush()
    return process.wait() == 0, "".join(lines)


def stop_without_network(output):
    if NETWORK.search(output):
        raise Stop(
            "The packages could not be downloaded: connect this computer to the network (or set its proxy in "
            f"HTTPS_PROXY) {AGAIN}."
        )


def last_words(output):
    """The last lines of a failed command, for the rare case that no sentence of ours fits."""
    return "\n".join("    " + line for line in output.strip().splitlines()[-5:])


# ----------------------------------------------------------------------------------------------------
# The steps


def create(folder):
    """Make the virtual environment unless a working one is there."""
    python = python_in(folder)
    if os.path.exists(python):
        env = dict(os.environ)
        code = f"import sys; sys.exit(sys.version_info < {OLDEST!r})"
        # An environment made by another tool may have no pip yet.
        if run([python, "-c", code], env)[0] and (
            run([python, "-m", "pip", "--version"], env)[0] or run([python, "-m", "ensurepip"], env)[0]
        ):
            return python
        say(f"{os.path.basename(folder)} does not work or is too old; it is made anew.")
    require_venv()
    say(f"Creating {os.path.basename(folder)} with Python {sys.version.split()[0]} ...")
    worked, output = run([sys.executable, "-m", "venv", "--clear", folder], dict(os.environ))
    if not worked:
        raise Stop(
            f"The environment {os.path.basename(folder)} could not be made by {sys.executable} "
            f"(its last words: {(output.strip().splitlines() or ['none'])[-1]}): "
            f"install a complete Python (on Debian and Ubuntu: apt install python3-venv) {AGAIN}."
        )
    return python


def split_lock(text, name):
    """(the lock without the entry of one package, that entry)."""
    entry = re.search(r"^" + re.escape(name) + r"==.*(?:\n[ \t#].*)*\n?", text, re.MULTILINE)
    if entry is None:
        return text, ""
    return text[: entry.start()] + text[entry.end() :], entry.group()


def ensure_uv(python, env):
    """Put uv, as the lock pins it, into the environment; False when it cannot be had."""
    if run([python, "-m", "uv", "--version"], env)[0]:
        return True
    _, entry = split_lock(read(os.path.join(ROOT, "requirements.lock")), "uv")
    with temporary_file(entry or "uv\n") as path:
        command = [python, "-m", "pip", "install", "--quiet", "--retries", "1", "--only-binary", ":all:"]
        command += ["--require-hashes"] if entry else []
        worked, output = run(command + ["-r", path], env)
    if not worked:
        stop_without_network(output)
    return worked


class temporary_file:
    """A text file that is gone after the with block."""

    def __init__(self, text):
        self.text = text

    def __enter__(self):
        handle, self.path = tempfile.mkstemp(suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(self.text)
        return self.path

    def __exit__(self, *error):
        os.unlink(self.path)


def install_lock(python, env):
    if ensure_uv(python, env):
        say("Installing the packages of requirements.lock ...")
        command = [python, "-m", "uv", "pip", "install", "--quiet", "--python", python, "--require-hashes"]
        worked, output = run(command + ["-r", "requirements.lock"], env)
        if worked:
            return
        stop_without_network(output)
        say("uv could not install the packages:\n" + last_words(output))
    say("Installing the packages of requirements.lock with pip instead of uv, which takes a minute ...")
    rest, _ = split_lock(read(os.path.join(ROOT, "requirements.lock")), "uv")
    with temporary_file(rest) as path:
        command = [python, "-m", "pip", "install", "--retries", "1", "--require-hashes", "-r", path]
        worked, output = run(command, env)
    if not worked:
        stop_without_network(output)
        raise Stop(f"pip could not install requirements.lock:\n{last_words(output)}\nMend that {AGAIN}.")


def requirements(extra=None):
    """The requirements of pyproject.toml, or those of one extra."""
    import tomllib

    with open(os.path.join(ROOT, "pyproject.toml"), "rb") as file:
        project = tomllib.load(file)["project"]
    if extra is None:
        return project["dependencies"]
    if extra not in project["optional-dependencies"]:
        raise Stop(f"pyproject.toml has no extra {extra!r}, only {', '.join(project['optional-dependencies'])}.")
    return project["optional-dependencies"][extra]


def install_extra(python, env, extra):
    say(f"Installing the extra {extra} of pyproject.toml ...")
    tool = ["-m", "uv", "pip", "install", "--quiet", "--python", python]
    if not ensure_uv(python, env):
        tool = ["-m", "pip", "install", "--quiet"]
    worked, output = run([python] + tool + requirements(extra), env)
    if not worked:
        stop_without_network(output)
        raise Stop(f"The extra {extra} could not be installed:\n{last_words(output)}\nMend that {AGAIN}.")


def installed(folder, name, wanted):
    return os.path.exists(python_in(folder)) and read(os.path.join(folder, name)) == wanted


def stamp(folder, name, wanted):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(wanted)


def quiet_jupyterlab(folder):
    """No question about news and no look for updates: JupyterLab here is the lock's, and may be projected."""
    settings = os.path.join(folder, "share", "jupyter", "lab", "settings")
    os.makedirs(settings, exist_ok=True)
    path = os.path.join(settings, "overrides.json")
    if not os.path.exists(path):
        quiet = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}}
        with open(path, "w", encoding="utf-8") as file:
            json.dump(quiet, file)


def default_environment():
    """.venv as in requirements.lock; a stamp inside it says for which lock it was made."""
    folder = os.path.join(ROOT, ".venv")
    wanted = digest("requirements.lock")
    if installed(folder, "lock.sha256", wanted):
        return folder
    python = create(folder)
    install_lock(python, environment(python))
    quiet_jupyterlab(folder)
    stamp(folder, "lock.sha256", wanted)
    return folder


def extra_environment(extra):
    folder = default_environment()
    wanted = digest("requirements.lock") + " " + " ".join(requirements(extra))
    if not installed(folder, f"extra-{extra}.sha256", wanted):
        python = python_in(folder)
        install_extra(python, environment(python), extra)
        stamp(folder, f"extra-{extra}.sha256", wanted)


def bounds_environment(which):
    """.venv-lowest: exactly the lower bounds of pyproject.toml, on the oldest Python that can be found.

    .venv-newest: the newest packages that exist, on this Python.
    """
    name = f".venv-{which}"
    folder = os.path.join(ROOT, name)
    wanted = digest("pyproject.toml")
    if installed(folder, "bounds.sha256", wanted):
        return
    python = python_in(default_environment())
    env = environment(python)
    if not ensure_uv(python, env):
        raise Stop(f"The environment {name} needs uv, which has no package for this computer: try another one {AGAIN}.")
    uv = [python, "-m", "uv"]
    oldest = "{}.{}".format(*OLDEST)
    made = which == "lowest" and run(uv + ["venv", "--quiet", "--clear", "--python", oldest, folder], env)[0]
    if not made:
        if which == "lowest":
            say(f"Python {oldest} was not found; {name} gets this Python.")
        worked, output = run(uv + ["venv", "--quiet", "--clear", "--python", sys.executable, folder], env)
        if not worked:
            raise Stop(f"{name} could not be made:\n{last_words(output)}\nMend that {AGAIN}.")
    say(f"Installing the {which} packages that pyproject.toml allows ...")
    wishes = requirements()
    if which == "lowest":
        # Exactly the bounds: with >=, one that does not fit the others would be raised without a word.
        wishes = [line.replace(">=", "==") for line in wishes]
    worked, output = run(uv + ["pip", "install", "--quiet", "--python", python_in(folder)] + wishes, env)
    if not worked:
        stop_without_network(output)
        raise Stop(f"The {which} packages could not be installed:\n{last_words(output)}\nMend a bound {AGAIN}.")
    stamp(folder, "bounds.sha256", wanted)


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Create or refresh the environments that make uses.")
    parser.add_argument("--extra", help="also install this extra of pyproject.toml")
    parser.add_argument("--lowest", action="store_true", help="make .venv-lowest with the lower bounds")
    parser.add_argument("--newest", action="store_true", help="make .venv-newest with the newest packages")
    options = parser.parse_args(arguments)
    try:
        require_python()
        if options.lowest or options.newest:
            bounds_environment("lowest" if options.lowest else "newest")
        elif options.extra:
            extra_environment(options.extra)
        else:
            default_environment()
    except Stop as reason:
        print(reason, file=sys.stderr)
        return 1
    except OSError as error:
        print(
            f"The environment could not be written ({error.strerror or error}: {error.filename or ROOT}): "
            f"make room or give yourself the right to write there {AGAIN}.",
            file=sys.stderr,
        )
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted: run the command again and it goes on.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
