"""JSON lines and tables: what is a row, and what is wrong with one that is not."""

import csv
import io
import json
import time
from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpu_cli.errors import InputError
from mpu_cli.text.records import Row, read_rows
from tests.golden import refused
from tests.line_limit import line_limit

LIMIT = 1000
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"))


def rows(data: bytes, form: str, limit: int = LIMIT) -> list[Row]:
    with line_limit(limit):
        return list(read_rows(io.BytesIO(data), "in", form))


def table(header: list[str], values: list[list[str]], delimiter: str = ",") -> bytes:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows([header, *values])
    return out.getvalue().encode()


@given(st.lists(st.dictionaries(TEXTS, TEXTS)))
def test_objects_come_back(objects):
    data = "".join(json.dumps(fields, ensure_ascii=False) + "\n" for fields in objects).encode()
    found = rows(data, "jsonl", 1 << 20)
    assert found == [Row(line, fields) for line, fields in enumerate(objects, 1)]


@given(st.lists(st.lists(TEXTS, min_size=2, max_size=2)), st.sampled_from(["csv", "tsv"]))
def test_tables_come_back(values, form):
    found = rows(table(["a", "b"], values, "," if form == "csv" else "\t"), form, 1 << 20)
    values = [row for row in values if any(map(str.strip, row))]
    assert [row.fields for row in found] == [dict(zip("ab", row, strict=True)) for row in values]


@pytest.mark.parametrize("delimiter", list(",;\t|"))
@pytest.mark.parametrize("form", ["csv", "tsv"])
def test_the_names_of_columns_tell_what_separates_them(delimiter, form):
    data = table(["id", "a text", "tags"], [["1", "x,y;z", "u"], ["", "", ""], ["2", "v", "w"]], delimiter)
    for before in (b"", b"\xef\xbb\xbf\r\n", b",,\n", f"sep={delimiter}\r\n".encode()):
        found = list(read_rows(io.BytesIO(before + data), "in", form, ["a text"]))
        assert [dict(row.fields) for row in found] == [
            {"id": "1", "a text": "x,y;z", "tags": "u"},
            {"id": "2", "a text": "v", "tags": "w"},
        ]


def test_a_byte_order_mark_crlf_and_empty_lines_do_no_harm():
    assert rows(b'\xef\xbb\xbf{"a": 1}\r\n\r\n  \n{"a": 2}', "jsonl") == [Row(1, {"a": 1}), Row(4, {"a": 2})]
    assert rows(b"\xef\xbb\xbfa,b\r\n\r\n1,2\r\n", "csv") == [Row(3, {"a": "1", "b": "2"})]


BAD = {
    "not JSON": (b'{"a": 1\n{"a": 2}\n', "jsonl", 1, "JSON"),
    "no object": (b'{"a": 2}\n[1]\n', "jsonl", 2, "object"),
    "too deep": (b"{}\n" + b"[" * 900 + b"\n", "jsonl", 2, "JSON"),
    "a number of many digits": (b'{"a": ' + b"9" * 5000 + b"}\n", "jsonl", 1, "JSON"),
    "JSON that is not UTF-8": (b'{"a": 2}\n{"a": "\xff"}\n', "jsonl", 2, "-f CP1252 -t UTF-8 if"),
    "a long line": (b'{"a": 2}\n{"a": "' + b"x" * 9000 + b'"}\n', "jsonl", 2, "longer than 1,000 bytes"),
    "a long line of a table": (b"a,b\n1,2\n" + b"x" * 9000 + b",2\n", "csv", 3, "longer than 1,000 bytes"),
    "a table that is not UTF-8": (b"a,b\n1,2\n\xe4,2\n", "csv", 3, "UTF-8"),
    "a NUL byte at the start": (b'{"a": "\0"}\n', "jsonl", 1, "NUL"),
    "a NUL byte later": (b'{"a": 2}\n{"a": "\0"}\n', "jsonl", 2, "line is damaged"),
    "too many values": (b"a,b\n1,2\n1,2,3\n", "csv", 3, "3 values"),
    "the names of columns again": (b"a,b\n1,2\na,b\n3,4\n", "csv", 3, "names the columns again"),
    "CR alone": (b"a\t<x>\na\t<x>\rb\t<y>\r\n", "annif", 2, "CR alone"),
    "a quotation mark within": (b'a,b\n1,2\n"1"x,2\n', "csv", 3, "twice"),
    "lines up to a mark": (b'a\tb\n"1\t2\n3\t4\n"5" x\t6\n', "tsv", 2, "; it takes up lines 2 to 4, "),
    "lines up to the end of a value": (b'a,b\n"1,2\n3"\t4,5,6\n', "csv", 2, "lines 2 to 3"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_row_is_named_by_its_line_and_reading_goes_on(name):
    data, form, line, words = BAD[name]
    after = b'{"z": 1}\n' if form == "jsonl" else b"8,9\n"
    found = rows(data + after, form, 6000 if "digits" in name else LIMIT)
    bad = next(row for row in found if row.problem)
    assert bad.line == line
    assert words in bad.with_lines(bad.problem)
    assert not found[-1].problem
    assert found[-1].line > line


@pytest.mark.parametrize("length", [LIMIT, LIMIT + 1])
def test_a_value_over_several_lines_is_as_long_as_a_line_may_be(length):
    row = b'"' + b"x\n" * 200 + b"y" * (length - 400) + b'",z'
    with nullcontext() if length == LIMIT else refused(InputError):
        (found,) = rows(b"a,b\n" + row + b"\r\n", "csv")
        assert not found.problem


def test_a_long_header_is_checked_in_one_pass():
    """Counting each name in all of them took 117 s."""
    names = [f"c{i}" for i in range(60_000)]
    began = time.process_time()
    (row,) = rows(",".join(names).encode() + b"\n1\n", "csv", 1 << 20)
    assert (row.fields["c0"], row.fields["c59999"], "c60000" in row.fields) == ("1", "", False)
    with refused(InputError):
        rows(",".join([*names, "c7", "c9"]).encode(), "csv", 1 << 20)
    assert time.process_time() - began < 20


def test_values_of_a_table_may_be_long_or_missing_at_the_end():
    (row,) = rows(b"a\n" + b"x" * 300_000 + b"\n", "csv", 1 << 20)
    assert len(row.fields["a"]) == 300_000
    assert rows(b"a,b,c\n1,2\n", "csv") == [Row(2, {"a": "1", "b": "2", "c": ""})]
    assert rows(b"a,b\n1,2,,\n", "csv") == [Row(2, {"a": "1", "b": "2"})]
