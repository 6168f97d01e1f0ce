"""What Python runs first in the kernels (and terminals) of lab.py, by PYTHONSTARTUP; it leaves no name behind."""


def _start():
    import os
    import pathlib
    import runpy

    shell = globals().get("get_ipython", lambda: None)()
    own = os.environ.get("LESSONS_PYTHONSTARTUP")  # the learner's file, whose place this one takes
    if hasattr(shell, "kernel"):
        here = pathlib.Path(os.environ["PYTHONSTARTUP"]).parent
        runpy.run_path(str(here.parent / "missing_name.py"))["install"](shell)
    if own and pathlib.Path(own).is_file():
        exec(compile(pathlib.Path(own).read_text(encoding="utf-8"), own, "exec"), globals())


_start()
del _start
