"""Formulas as HTML: typeset by KaTeX while pages are built, so that a page needs only its style sheet and fonts."""

import socket
import subprocess
import time
from pathlib import Path

WEB = Path(__file__).resolve().parent / "web"
KATEX = WEB / "node_modules" / "katex" / "dist"


def typeset(formula, display, output="htmlAndMathml"):
    """HTML of a formula, with MathML inside for screen readers; "mathml" alone needs no style sheet."""
    from sphinxcontrib import katex

    wait_for_server(katex.KaTeXServer)
    katex.KaTeXServer.katex_path = KATEX / "katex.min.js"
    options = {"displayMode": display, "output": output, "throwOnError": True, "strict": "ignore"}
    return katex.render_latex(formula, options)


def wait_for_server(server):
    """Let KaTeX's server be connected to when it listens, not once its socket file is there, which may be too soon."""

    def start(rundir, timeout):
        place, end = rundir / "katex.sock", time.monotonic() + timeout
        command = server.build_command(socket=place)
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=rundir)
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        while connection.connect_ex(str(place)):
            if time.monotonic() > end:
                process.kill()
                raise server.timeout_error(timeout)
            time.sleep(0.01)
        return process, connection

    server.start_server_process = start
