"""How numbers are written in captions, labels and sentences."""

import re

import numpy as np


def format_value(value, spec=None):
    """One number as a learner reads it: 8, 0.25, −1.3, 1e−5, ∞; with a minus sign, and never −0.

    Parameters
    ----------
    value : a number or a bool (written as yes or no)
    spec : how to round, as in f-strings: ".2f", ".1e", ".0%". Without it an integer stays whole, any other number
        has at most four digits, and below 0.001 and from 10,000 two digits and a power of ten.

    Returns a text. For several numbers: `", ".join(format_value(v, ".2f") for v in values)`.
    """
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if spec is None:
        spec = _spec_for(value)
    text = format(value, spec)
    text = re.sub(r"(\.0)?e(?:\+|(-))0*(\d)", r"e\2\3", text)
    if not re.search("[1-9a-z]", text.split("e")[0]):
        text = text.removeprefix("-")  # rounded to zero
    return text.replace("-", "−").replace("inf", "∞")


def _spec_for(value):
    if isinstance(value, (int, np.integer)):
        return "d"
    size = abs(value)
    return ".1e" if 0 < size < 1e-3 or size >= 1e4 else ".4g"
