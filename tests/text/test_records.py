"""Records: which fields they have, of which types. What was set by name or path is got, and all else stays."""

import io
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpu_cli.errors import InputError
from mpu_cli.text.fields import holder, value_of, with_value
from mpu_cli.text.records import Fields, Record, RecordReader, Row, form_and_fields
from tests.golden import refused


def records(*objects: object, is_found=False, **fields) -> list[Record | Row]:
    data = "".join(json.dumps(value) + "\n" for value in objects).encode()
    return read(data, "jsonl", is_found, **fields)


def read(data: bytes, form: str, is_found=False, **fields) -> list[Record | Row]:
    """Read records, and rows with a problem instead of bad ones; perhaps find the fields that are tags."""
    found, reader = [], RecordReader("in", form, Fields(**fields))
    reader.refuse = lambda row, problem: found.append(replace(row, problem=problem))
    if is_found:
        reader.find_tags(io.BytesIO(data))
    for record in reader.records(io.BytesIO(data)):
        found.append(record)
    return found


def test_named_fields_and_several_texts():
    record = {"title": "A", "abstract": None, "note": "B", "subjects": "x| y |x||", "nr": 12}
    (found,) = records(record, text=("title", "abstract", "note"), tags=("subjects",), id="nr", separator="|")
    assert found == Record(1, "A\nB", ("x", "y"), "12", False)


@pytest.mark.parametrize("fields", [{}, {"tags": ("tags",), "named": {"tags"}}, {"text": ("id",), "id": "text"}])
@pytest.mark.parametrize(("form", "mark"), [("csv", ","), ("tsv", "\t")])
def test_a_row_that_is_cut_off_before_a_column_that_is_read_is_bad(form, mark, fields):
    data = b"id,text,tags,note\n1,one,a\n2,two\n3\n4,four,\n".replace(b",", mark.encode())
    first, two, one, last = read(data, form, **fields)
    assert (first.tags, last.tags) == (("a",), ())
    assert (two.line, two.problem.split(";")[0]) == (3, "there are 2 values, but 4 columns, and none in 'tags'")
    assert (one.line, one.problem.split(",")[0]) == (4, "there is 1 value")


def test_a_row_that_is_cut_off_before_a_column_of_0_and_1_is_bad():
    data = b"text,a,b,note\none,1,0\ntwo,1\n"
    first, cut_off = read(data, "csv", is_found=True)
    assert (first.tags, isinstance(cut_off, Row)) == (("a",), True)


def test_a_missing_field_is_reported_with_those_of_a_wide_record():
    for n, last in ((12, "'f11'"), (31, "'f29', ...")):
        (bad,) = records({f"f{i}": "" for i in range(n)})
        assert bad.problem.endswith(last)


def test_records_without_tags_and_ids():
    assert records({"text": "a"}, {"text": "b"}) == [Record(1, "a", (), None, False), Record(2, "b", (), None, False)]
    found = records({"text": "a"}, {"text": "b", "tags": ["x"]}, {"text": "c", "tags": None}, named={"tags"})
    assert [record.tags for record in found] == [(), ("x",), ()]


def test_tags_of_all_kinds_and_blanks_for_control_characters():
    record = {"text": "", "tags": [" a ", "a", "", 2021, "A", "a  b", "a b"]}
    assert records(record)[0].tags == ("a", "2021", "A", "a  b", "a b")
    (found,) = records({"id": "\x1b1\t2\n", "text": "a\tb", "tags": ["x\ny", "u\u2028v\r\nw", "\x00z\x9b\x7f"]})
    assert found == Record(1, "a\tb", ("x y", "u v  w", "z"), "1 2", True)


def test_an_id_that_comes_later_would_be_lost():
    _, bad = records({"text": ""}, {"text": "", "id": "x"})
    assert "'id'" in bad.problem and "--id" in bad.problem


@pytest.mark.parametrize(
    "text",
    ["[Anonymous]", "(1900)", "<a> <b>", "<http://e.org/1>", "a {b}", "[a, b]", "<a", "|a", "||", "('a' 'b)"[1:]],
)
def test_a_tag_in_brackets_is_a_tag(text):
    assert records({"text": "", "tags": text})[0].tags == (text,)


@pytest.mark.parametrize("values", [(1, 0), ("1", "0"), (True, False), ("x", ""), ("1.0", "NaN"), ("TRUE", "N/A")])
@pytest.mark.parametrize("named", [False, True])
def test_fields_of_0_and_1_are_tags(values, named):
    yes, no = values
    rows = [{"text": "t", "id": "1", "n": 1, "a": yes, "b": no}, {"text": "u", "id": "0", "n": 7, "a": yes, "b": yes}]
    rows = [row | {"c": "", "d": "NA"} for row in rows]
    fields = {"tags": ("a", "b", "c"), "named": {"tags"}} if named else {}
    found = records(*rows, is_found=True, **fields)
    assert [record.tags for record in found] == [("a",), ("a", "b")]
    assert [record.tags for record in records(*rows)] == [(), ()]


def test_a_field_of_0_and_1_must_go_on_so():
    rows = [{"text": "t", "a": 0, "b": 1}] * 200 + [{"text": "t", "a": 7, "b": 1}]
    assert "'a' is '7', not 0 or 1" in records(*rows, is_found=True)[-1].problem


def test_several_fields_have_tags():
    rows = [{"text": "t", "a": "x; y", "b": ["z"]}, {"text": "t", "b": "x"}]
    found = records(*rows, tags=("a", "b"), named={"tags"}, is_found=True)
    assert [record.tags for record in found] == [("x", "y", "z"), ("x",)]


def test_the_format_is_told_or_given():
    forms = {"a.jsonl": "jsonl", "a.ndjson": "jsonl", "a.b.csv.gz": "csv", "a.tsv.xz": "tsv", "NEWS.CSV.ZST": "csv"}
    assert {name: form_and_fields(name, None) for name in forms} == {n: (form, Fields()) for n, form in forms.items()}
    assert form_and_fields("a.csv", "tsv") == ("tsv", Fields())
    for name in ("-", "a.txt"):
        with refused(InputError):
            form_and_fields(name, None)


ENCODER = json.JSONEncoder()
NAMES = st.text("ab.", max_size=3)
OBJECTS = st.recursive(
    st.none() | st.integers(), lambda inner: st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
).filter(lambda value: isinstance(value, dict))


@given(OBJECTS, st.text("ab.", min_size=1, max_size=5))
def test_what_is_set_is_got(fields, name):
    before = json.dumps(fields)
    try:
        after = with_value(before, name, ["v"], ENCODER)
    except ValueError:
        assert holder(fields, name) is None
        return
    assert value_of(json.loads(after), name) == ["v"]
    place = holder(fields, name)
    if place is not None and place[1] in place[0]:  # put back what was there: nothing else has changed
        assert with_value(after, name, value_of(fields, name), ENCODER) == before


@pytest.mark.parametrize("fields", [{"a": 1}, {"a": {"b": [2]}}])
def test_a_path_through_another_value_is_refused(fields):
    assert holder(fields, "a.b.c") is None
    with refused(ValueError):
        with_value(json.dumps(fields), "a.b.c", "1", ENCODER)
