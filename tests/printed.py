"""Comparison of reports."""

import pytest


def assert_close(one: dict, other: dict) -> None:
    """Fail where two reports have other warnings, or numbers that are not the same up to rounding."""
    assert one["warnings"] == other["warnings"]
    assert {**one, "warnings": None} == pytest.approx({**other, "warnings": None})
