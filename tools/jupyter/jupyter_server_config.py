"""Lets the server that tools/lab.py starts find the extension tools/lesson_server.py; kernels are not affected.

And lets JupyterLab's page find labextensions/ beside this file.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
c.LabApp.extra_labextensions_path = [str(HERE / "labextensions")]  # noqa: F821 - Jupyter gives `c` to this file
