"""Settings of the server that lab.py starts; kernels are not affected. Options on the command line go before them."""

from pathlib import Path

c = get_config()  # noqa: F821 - Jupyter gives it to this file
# Under two names, localhost and 127.0.0.1, the browser would keep two sets of answers; one is opened and printed.
c.ServerApp.ip = "127.0.0.1"
c.HTMLExporter.extra_template_basedirs = [str(Path(__file__).resolve().parent / "templates")]
c.HTMLExporter.template_name = "lesson"
