"""What runs at a student's start, under JupyterHub itself: a student logs in, works, and comes again the next day."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import suppress
from importlib.util import find_spec

import pytest
import requests
import yaml

from tools.lessons import ROOT

LACKS = [name for name in ("jupyterhub", "nbgitpuller") if not find_spec(name)]
LACKS += [name for name in ("git", "npm") if not shutil.which(name)]
VALUES = yaml.safe_load((ROOT / "tools" / "classroom" / "values.yaml").read_text(encoding="utf-8"))["singleuser"]
EDITED = "lessons/workbook/02_batch_dependence.ipynb"


def settings(folder):
    """A hub that starts servers as values.yaml says, for students with homes in the folder."""
    with socket.socket() as one, socket.socket() as two, socket.socket() as three:
        for probe in (one, two, three):
            probe.bind(("127.0.0.1", 0))
        public, hub, proxy = (f"http://127.0.0.1:{probe.getsockname()[1]}" for probe in (one, two, three))
    command = [word.replace("/srv/lessons", str(ROOT)) for word in VALUES["cmd"]]
    environment = VALUES["extraEnv"] | {"LESSONS_REPOSITORY": f"{folder}/course.git"}
    return {
        "JupyterHub": {"bind_url": public, "hub_bind_url": hub, "spawner_class": "simple", "cleanup_servers": True},
        "Authenticator": {"allow_all": True},
        "ConfigurableHTTPProxy": {"api_url": proxy, "command": [f"{folder}/node_modules/.bin/configurable-http-proxy"]},
        "SimpleLocalProcessSpawner": {"home_dir_template": f"{folder}/{{username}}"},
        "Spawner": {"cmd": command, "args": ["--allow-root"], "environment": environment, "http_timeout": 180},
    }


def a_day(folder):
    """Start the hub, log in as anna, wait; return JupyterLab's page and lesson 02 as a browser gets them."""
    config = settings(folder)
    (folder / "hub.json").write_text(json.dumps(config), encoding="utf-8")
    path = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
    command = [sys.executable, "-m", "jupyterhub", "--config=hub.json", "--JupyterHub.authenticator_class=dummy"]
    hub, student = subprocess.Popen(command, cwd=folder, env={**os.environ, "PATH": path}), requests.Session()
    at = config["JupyterHub"]["bind_url"]
    try:
        for _ in range(360):
            time.sleep(0.5)
            with suppress(requests.RequestException):
                if "jupyterhub-session-id" not in student.cookies:
                    student.get(f"{at}/hub/login").raise_for_status()
                    form = {"username": "anna", "password": "any", "_xsrf": student.cookies["_xsrf"]}
                    student.post(f"{at}/hub/login?next=/hub/spawn", data=form).raise_for_status()
                page = student.get(f"{at}/user/anna{VALUES['defaultUrl']}")
                if "jupyter-config-data" in page.text:
                    return page.text, student.get(f"{at}/user/anna/api/contents/{EDITED}").json()["content"]
        raise TimeoutError("no JupyterLab within three minutes")
    finally:
        hub.terminate()
        hub.wait(60)


@pytest.mark.skipif(bool(LACKS) and "CLASS_REQUIRED" not in os.environ, reason=f"not installed: {LACKS}")
def test_a_student_gets_lessons_and_keeps_answers(tmp_path):
    subprocess.run(["git", "clone", "--bare", "--quiet", ROOT, tmp_path / "course.git"], check=True)
    subprocess.run(["npm", "install", "--silent", "--prefix", tmp_path, "configurable-http-proxy@5"], check=True)
    page, lesson = a_day(tmp_path)
    assert all(cell["metadata"]["trusted"] for cell in lesson["cells"] if cell["cell_type"] == "code")
    names = [path.name for path in (ROOT / "notebooks").glob("*.ipynb")]
    assert all((tmp_path / "anna" / "lessons" / "workbook" / name).exists() for name in names)
    lesson["cells"][-1]["source"] = "my answer"
    (tmp_path / "anna" / EDITED).write_text(json.dumps(lesson), encoding="utf-8")
    assert a_day(tmp_path)[1]["cells"][-1]["source"] == "my answer"
