"""How numbers are written in captions, labels and sentences."""

import numpy as np
import pytest

from helpers import format_value


@pytest.mark.parametrize(
    ("value", "spec", "words"),
    [
        (8, None, "8"),
        (0.25, None, "0.25"),
        (1.234e-5, None, "1.2e−5"),
        (-3, None, "−3"),
        (True, None, "yes"),
        (np.False_, None, "no"),
        (12345.0, None, "1.2e4"),
        (-0.0015, None, "−0.0015"),
        (-0.0, None, "0"),
        (-np.inf, None, "−∞"),
        (np.nan, None, "nan"),
        (np.float32(0.1), None, "0.1"),
        (-1.256, ".2f", "−1.26"),
        (-0.001, ".2f", "0.00"),
        (-0.001, ".0%", "0%"),
        (-2e6, ".0e", "−2e6"),
        (1.0, ".0e", "1e0"),
        (65504.0, ",.0f", "65,504"),
        (-0.5, "+.1f", "−0.5"),
    ],
)
def test_numbers_are_written_as_a_learner_reads_them(value, spec, words):
    assert format_value(value, spec) == words
