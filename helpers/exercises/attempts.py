"""What can be said of an attempt before it is run: is anything written, does it fit, is it the learner's own work?"""

import functools
import inspect
import sys
from types import CodeType, FunctionType

from ..checks import describe, running_shell, shorten

_PACKAGE = __package__.split(".")[0]
# The parts of the package that do no exercise's work, so that an attempt may call them.
_ALLOWED = {"checks", "datasets", "exercises", "figures", "lessons", "notebook", "theme", "widgets"}
# What a layer of the learner's own is made of, so that an attempt may use it.
_MATERIAL = {"Layer", "Parameter"}


def is_blank(attempt):
    """Whether the body is only `...`, `pass` or a docstring (for a class: of all methods but `__init__`)."""
    if isinstance(attempt, type):
        methods = {name: m for name, m in vars(attempt).items() if isinstance(m, FunctionType)}
        methods.pop("__init__", None)
        return bool(methods) and all(is_blank(m) for m in methods.values())
    code = getattr(attempt, "__code__", None)
    if code is None:
        return False
    constants = {c for c in code.co_consts if c is not ...} - {None, attempt.__doc__}
    return not constants and set(code.co_code[::2]) <= set(_nothing.__code__.co_code[::2])


def _nothing():
    """A body of all that does nothing, whose steps are those of every blank one."""
    pass
    ...


def unfit(exercise, attempt, cases):
    """Why the attempt cannot even be called on the cases, or None."""
    a_class = isinstance(exercise.reference, type)
    what = "class" if a_class else "function"
    if not callable(attempt) or a_class != isinstance(attempt, type):
        return f"got {describe(attempt)}, expected the {what} itself: {exercise.signature}"
    if inspect.isgeneratorfunction(attempt):
        return "it is a generator; use return, not yield"
    for c in () if a_class else cases:
        try:
            inspect.signature(attempt).bind(*c.args, **c.kwargs)
        except TypeError:
            takes = shorten(str(inspect.signature(attempt)), 80)
            return f"it takes {takes}, expected the call {exercise.signature}"
        except ValueError:  # some built-in functions have no signature
            return None
    return None


def not_written_here(exercise, attempt, from_any_cell):
    """Why the attempt is not the learner's own work in the running cell, or None."""
    for built_on in attempt.__mro__ if isinstance(attempt, type) else ():
        if _is_helper(built_on):
            what = "is the helper itself" if built_on is attempt else f"is built on the helper {built_on.__name__}"
            return f"it {what}; write the steps yourself"
    for function in _functions(attempt):
        if _is_helper(function):
            return f"it is the helper {function.__name__} itself; write the steps yourself"
        if not from_any_cell and _comes_from_another_cell(function):
            return f"{exercise.name} comes from another cell; define it under this name in the cell that checks it"
        used = _names_in(function.__code__)
        found = [(name, function.__globals__.get(name)) for name in used]
        modules = [thing for _, thing in found if inspect.ismodule(thing) and _is_ours(thing.__name__)]
        for name, thing in found + [(name, getattr(module, name, None)) for module in modules for name in used]:
            if _is_helper(thing):
                return f"it calls the helper {name}; write the steps yourself"
        for names, sentence in exercise.forbidden.items():
            if used & set(names.split()):
                return sentence
    return None


def _functions(attempt):
    """The functions written with def or lambda that an attempt consists of: one, or the methods of a class."""
    if isinstance(attempt, functools.partial):
        attempt = attempt.func
    if isinstance(attempt, type):
        return [method for method in vars(attempt).values() if isinstance(method, FunctionType)]
    return [attempt] if isinstance(attempt, FunctionType) else []


def _names_in(code):
    """The names that a function and those defined inside it look up, in the notebook or in an object."""
    inner = (_names_in(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*inner)


def _comes_from_another_cell(function):
    """Whether notebook cells define the function and check it, but not the same cell. False where that is unknown.

    IPython gives the code of every cell a file name of its own.
    """
    names = getattr(running_shell(), "user_global_ns", None)
    frame = sys._getframe()
    while frame and not (frame.f_globals is names and frame.f_code.co_name == "<module>"):
        frame = frame.f_back
    return bool(frame) and function.__globals__ is names and function.__code__.co_filename != frame.f_code.co_filename


def _is_helper(thing):
    """Whether something is one of the package's functions or classes that compute what exercises ask for."""
    if not isinstance(thing, (FunctionType, type)) or thing.__name__ in _MATERIAL:
        return False
    return _is_ours(thing.__module__ or "")


def _is_ours(module):
    """Whether a module, by its name, is one of the package's that compute."""
    package, *inner = module.split(".")
    return package == _PACKAGE and not (inner and inner[0] in _ALLOWED)
