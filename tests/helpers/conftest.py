"""Each test of the helpers begins without results of checks."""

import pytest

from helpers import checks


@pytest.fixture(autouse=True)
def empty_registry(monkeypatch):
    monkeypatch.setattr(checks, "_results", {})
    monkeypatch.setattr(checks, "_not_counted", 0)
