"""Fields by name and path: what was set is got, and all else stays."""

from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpu_cli.text.fields import holder, set_value, value_of
from tests.golden import refused

NAMES = st.text("ab.", max_size=3)
OBJECTS = st.recursive(
    st.none() | st.integers(), lambda inner: st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
).filter(lambda value: isinstance(value, dict))


@given(OBJECTS, st.text("ab.", min_size=1, max_size=5))
def test_what_is_set_is_got(fields, name):
    before = deepcopy(fields)
    try:
        set_value(fields, name, ["v"])
    except ValueError:
        assert holder(before, name) is None
        return
    assert value_of(fields, name) == ["v"]
    place = holder(before, name)
    if place is not None and place[1] in place[0]:  # put back what was there: nothing else has changed
        set_value(fields, name, value_of(before, name))
        assert fields == before


@pytest.mark.parametrize("fields", [{"a": 1}, {"a": {"b": [2]}}])
def test_a_path_through_another_value_is_refused(fields):
    assert holder(fields, "a.b.c") is None
    with refused(ValueError):
        set_value(fields, "a.b.c", "1")
