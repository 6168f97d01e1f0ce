"""The lessons give the stored text, and the unit tests pass, on other processors.

OpenBLAS holds one set of routines ("kernel") for each generation of processors; NumPy uses vector units itself. Each
adds up in another order, so the last digits differ. Here all runs under every kernel that this processor can run, and
with NumPy's vector units off.
"""

import os
import subprocess
import sys

import pytest

from tests.shared import EVERYTHING, ROOT

KERNELS = ["Prescott", "Nehalem", "Sandybridge", "Haswell", "Zen", "SkylakeX"]  # the oldest first
SAME = {"Prescott": "Katmai"}  # one set of routines in 64-bit builds; OpenBLAS tells the first of its names
PLAIN = "no vector units in NumPy"
# `make test-everything` tries all of them.
PROCESSORS = [*KERNELS, PLAIN] if EVERYTHING else KERNELS[:1]
# The lessons, and the unit tests that compute.
TESTED = ["notebooks"]
TESTED += [f"tests/helpers/test_{name}.py" for name in ("norms", "gradients", "layers", "nets", "precision", "checks")]
TESTED += [f"tests/helpers/test_{name}.py" for name in ("exercises", "datasets", "inputs")]

# Which kernel OpenBLAS has chosen. NumPy of PyPI brings its own OpenBLAS, whose functions have a prefix or a suffix.
ASK_OPENBLAS = """
import ctypes, pathlib, sys
import numpy
folders = [pathlib.Path(numpy.__file__).parent.parent / "numpy.libs", pathlib.Path(numpy.__file__).parent / ".dylibs"]
for file in [file for folder in folders for file in folder.glob("*openblas*")]:
    library = ctypes.CDLL(str(file))
    for name in ("scipy_openblas_get_corename64_", "scipy_openblas_get_corename", "openblas_get_corename"):
        if hasattr(library, name):
            function = getattr(library, name)
            function.restype = ctypes.c_char_p
            print(function().decode())
            sys.exit()
"""
ASK_NUMPY = """
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
print(*[name for name in __cpu_dispatch__ if __cpu_features__.get(name)])
"""


def answer(program, **environ):
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=os.environ | environ, capture_output=True, text=True, timeout=60).stdout.strip()


def environment_of(processor):
    """The variables that make this machine compute like `processor`, or a skip that says what it did instead."""
    if processor == PLAIN:
        features = answer(ASK_NUMPY)
        off = {"NPY_DISABLE_CPU_FEATURES": features}
        if not features or answer(ASK_NUMPY, **off):
            pytest.skip("this NumPy has no vector units that can be switched off here")
        return off
    chosen = answer(ASK_OPENBLAS, OPENBLAS_CORETYPE=processor)
    if chosen not in (processor, SAME.get(processor)):
        pytest.skip(f"this processor cannot run the kernel {processor}: OpenBLAS took {chosen or 'nothing'}")
    return {"OPENBLAS_CORETYPE": processor}


@pytest.mark.parametrize("processor", PROCESSORS)
def test_on_another_processor(processor):
    nbval = ["--nbval", "--nbval-current-env", "--nbval-cell-timeout=120"]
    workers = ["-n", "2", "--dist", "loadscope", "-p", "no:cacheprovider"]
    own = {"HELPERS_STRICT": "1", "PYTEST_ADDOPTS": ""} | environment_of(processor)
    left = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
    command = [sys.executable, "-m", "pytest", *TESTED, *nbval, *workers]
    result = subprocess.run(command, cwd=ROOT, env=left | own, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-1000:]
