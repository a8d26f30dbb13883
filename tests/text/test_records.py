"""Records: which fields they have, of which types."""

import io
import json

import pytest

from mpu_cli.errors import InputError
from mpu_cli.text.records import Bad, Fields, Record, chosen_format, read_records
from tests.golden import refused


def records(*objects: object, **fields) -> list[Record | Bad]:
    data = "".join(json.dumps(value) + "\n" for value in objects).encode()
    return list(read_records(io.BytesIO(data), "in", "jsonl", Fields(**fields)))


def test_the_fields_of_default():
    assert records({"id": "a", "text": "t", "tags": ["x", "y"]}) == [Record(1, "t", ("x", "y"), "a", False)]


def test_named_fields_and_several_texts():
    record = {"title": "A", "abstract": None, "note": "B", "subjects": "x| y |x||", "nr": 12}
    (found,) = records(record, text=("title", "abstract", "note"), tags="subjects", id="nr", separator="|")
    assert found == Record(1, "A\nB", ("x", "y"), "12", False)


def test_a_table(tmp_path):
    data = b"id,text,tags\n1,one,a;b\n2,,\n"
    found = list(read_records(io.BytesIO(data), "in", "csv", Fields()))
    assert found == [Record(2, "one", ("a", "b"), "1", False), Record(3, "", (), "2", False)]


def test_records_without_tags_and_ids():
    assert records({"text": "a"}, {"text": "b"}) == [Record(1, "a", (), None, False), Record(2, "b", (), None, False)]


def test_tags_of_all_kinds():
    record = {"text": "", "tags": [" a ", "a", "", 2021, "A", "a  b", "a b"]}
    assert records(record)[0].tags == ("a", "2021", "A", "a  b", "a b")
    assert records({"text": "", "tags": None})[0].tags == ()


def test_control_characters_within_become_blanks():
    (found,) = records({"id": "\x1b1\t2\n", "text": "a\tb", "tags": ["x\ny", "u\u2028v\r\nw", "\x00z\x9b\x7f"]})
    assert found == Record(1, "a\tb", ("x y", "u v  w", "z"), "1 2", True)


BAD = {
    "no text": ({"id": "1", "tags": []}, "no field 'text' here; there are 'id', 'tags'"),
    "no field at all": ({}, "none at all"),
    "a number": ({"id": "1", "text": 5, "tags": []}, "'text' is a number"),
    "a list": ({"id": "1", "text": ["a"], "tags": []}, "'text' is a list"),
    "no tags": ({"id": "1", "text": ""}, "no field 'tags'"),
    "tags as an object": ({"id": "1", "text": "", "tags": {"a": 1}}, "'tags' is an object"),
    "tags as a number": ({"id": "1", "text": "", "tags": 1}, "'tags' is a number"),
    "a tag that is a list": ({"id": "1", "text": "", "tags": [["a"]]}, "'tags' is a list that has a list"),
    "a tag that is true": ({"id": "1", "text": "", "tags": [True]}, "true or false"),
    "a tag that is null": ({"id": "1", "text": "", "tags": [None]}, "null"),
    "no id": ({"text": "", "tags": []}, "no field 'id'"),
    "an id that is null": ({"id": None, "text": "", "tags": []}, "'id' is null"),
    "an id that is 1.5": ({"id": 1.5, "text": "", "tags": []}, "'id' is a number"),
    "an id of blanks": ({"id": " ", "text": "", "tags": []}, "'id' is empty"),
    "half a surrogate pair": ({"id": "1", "text": "", "tags": ["\ud800"]}, "'tags' has half"),
    "half a surrogate pair in a text": ({"id": "1", "text": "\udc00", "tags": []}, "'text' has half"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_record_names_line_and_field(name):
    record, words = BAD[name]
    good = {"id": "0", "text": "", "tags": []}
    first, bad, last = records(good, record, good)
    assert isinstance(first, Record) and isinstance(last, Record)
    assert bad.line == 2
    assert words in bad.problem


@pytest.mark.parametrize("name", ["tags", "id"])
def test_a_field_that_comes_later_would_be_lost(name):
    _, bad = records({"text": ""}, {"text": "", name: "x"})
    assert f"'{name}'" in bad.problem and f"--{name}" in bad.problem


def test_a_named_field_must_be_there():
    (bad,) = records({"text": "a"}, tags="subjects", needs_tags=True)
    assert "'subjects'" in bad.problem


def test_the_format_is_told_or_given():
    assert chosen_format("a.csv.gz", None) == "csv"
    assert chosen_format("a.csv", "tsv") == "tsv"
    with refused(InputError):
        chosen_format("-", None)
