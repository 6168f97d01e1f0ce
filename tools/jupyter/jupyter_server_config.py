"""Lets the server that tools/lab.py starts find the extension tools/lesson_server.py; kernels are not affected."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
