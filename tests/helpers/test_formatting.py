"""How numbers are written in captions, labels and sentences."""

import numpy as np
import pytest

from helpers import format_value


@pytest.mark.parametrize(
    ("value", "spec", "words"),
    [
        (8, None, "8"),
        (12345, None, "12345"),
        (0.25, None, "0.25"),
        (1e-5, None, "1e−5"),
        (1.234e-5, None, "1.2e−5"),
        (-3, None, "−3"),
        (True, None, "yes"),
        (np.False_, None, "no"),
        (1e4, None, "1e4"),
        (12345.0, None, "1.2e4"),
        (9999.0, None, "9999"),
        (0.001, None, "0.001"),
        (-0.0015, None, "−0.0015"),
        (-0.0, None, "0"),
        (-np.inf, None, "−∞"),
        (np.nan, None, "nan"),
        (np.float32(0.1), None, "0.1"),
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
    ],
)
def test_numbers_are_written_as_a_learner_reads_them(value, spec, words):
    assert format_value(value, spec) == words
