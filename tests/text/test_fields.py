"""Fields by name and path: what was set is got, and all else stays."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpu_cli.text.fields import holder, value_of, with_value
from tests.golden import refused

NAMES = st.text("ab.", max_size=3)
OBJECTS = st.recursive(
    st.none() | st.integers(),
    lambda inner: st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
).filter(lambda value: isinstance(value, dict))


@given(OBJECTS, st.text("ab.", min_size=1, max_size=5))
def test_what_is_set_is_got(fields, name):
    line = json.dumps(fields)
    try:
        after = json.loads(with_value(line, name, '["v"]'))
    except ValueError:
        assert holder(fields, name) is None
        return
    assert value_of(after, name) == ["v"]
    place = holder(fields, name)
    if place is not None and place[1] in place[0]:  # put back what was there: nothing else has changed
        assert json.loads(with_value(json.dumps(after), name, json.dumps(value_of(fields, name)))) == fields


@pytest.mark.parametrize(
    ("line", "name", "expected"),
    [
        ('{"meta": {"tags": []}, "n": 1e400}', "meta.tags", '{"meta": {"tags": 1}, "n": 1e400}'),
        ('{"meta.tags": 2, "meta": {}}', "meta.tags", '{"meta.tags": 1, "meta": {}}'),
        ('{"meta": null}', "meta.tags", '{"meta": {"tags": 1}}'),
        (json.dumps({"." * 200: 0}), "." * 200, json.dumps({"." * 200: 1})),
        ("{}", "a.b.c", '{"a": {"b": {"c": 1}}}'),
        ('{"a": 1, "a": {"b": 0}}', "a.b", '{"a": 1, "a": {"b": 1}}'),
    ],
)
def test_where_a_value_is_set(line, name, expected):
    assert with_value(line, name, "1") == expected


@pytest.mark.parametrize("line", ['{"a": 1}', '{"a": {"b": [2]}}'])
def test_a_path_through_another_value_is_refused(line):
    assert holder(json.loads(line), "a.b.c") is None
    with refused(ValueError):
        with_value(line, "a.b.c", "1")


@pytest.mark.parametrize("depth", [99, 100, 10_000])
def test_what_is_set_can_be_read_again(depth):
    """A path of 100 names made a record that no command reads."""
    with refused(ValueError):
        with_value("{}", ".".join("a" * (depth + 1)), '["v"]')
