import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpu_cli.runtime.files import json_value
from tests.golden import refused

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text("a[{é\ud800"),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(VALUES, st.booleans())
def test_a_value_is_that_of_the_library(value, as_bytes):
    text = json.dumps(value)
    assert json_value(text.encode() if as_bytes else text) == value


@pytest.mark.parametrize("unit", ["[", '{"a":', '[{"a":', "[[],"])
@pytest.mark.parametrize("levels", [101, 900, 990, 1000, 100_000])
def test_however_deep_it_is_it_is_a_clear_error(unit, levels):
    with pytest.raises(ValueError, match="this is not JSON"):
        json_value(unit * levels)


@pytest.mark.parametrize("text", ["", "{", "nul", b"\xff", b"\x80{}", '"' + "\\u12", "1" * 5000, "[" + "1," * 10])
def test_what_is_no_json_is_a_value_error(text):
    with refused(ValueError):
        json_value(text)


def test_a_key_twice_is_refused_where_that_is_asked_for():
    assert json_value('[{"a": 1, "a": 2}]') == [{"a": 2}]
    with refused(ValueError):
        json_value('[{"a": 1, "a": 2}]', strict=True)
