"""How numbers are written in captions, labels and sentences."""

import numpy as np

from helpers import format_value
from tests.shared import for_each


@for_each(
    ("value", "words"),
    [
        (8, "8"),
        (12345, "12345"),
        (0.25, "0.25"),
        (1e-5, "1e−5"),
        (2.5e-7, "2.5e−7"),
        (1e-12, "1e−12"),
        (-3, "−3"),
        (True, "yes"),
        (np.False_, "no"),
        (1e6, "1e6"),
        (1e4, "1e4"),
        (12345.0, "1.2e4"),
        (9999.0, "9999"),
        (0.001, "0.001"),
        (-0.0015, "−0.0015"),
        (0.0, "0"),
        (-0.0, "0"),
        (-np.inf, "−∞"),
        (np.nan, "nan"),
        (np.float32(0.1), "0.1"),
    ],
)
def test_numbers_are_written_as_a_learner_reads_them(value, words):
    assert format_value(value) == words


@for_each(
    ("value", "spec", "words"),
    [
        (-1.256, ".2f", "−1.26"),
        (-0.001, ".2f", "0.00"),
        (-0.001, ".0%", "0%"),
        (-0.151, ".0%", "−15%"),
        (1.04e-5, ".1e", "1e−5"),
        (1.26e-5, ".1e", "1.3e−5"),
        (-2e6, ".0e", "−2e6"),
        (10.0, ".1f", "10.0"),
        (1.0, ".0e", "1e0"),
        (-0.0, ".1e", "0e0"),
        (65504.0, ",.0f", "65,504"),
        (-0.5, "+.1f", "−0.5"),
        (np.inf, ".2f", "∞"),
    ],
)
def test_another_rounding_is_asked_as_in_f_strings(value, spec, words):
    assert format_value(value, spec) == words
