"""Records written back: what is read again is what was there, but for the tags."""

import csv
import json
from io import BytesIO, StringIO

from hypothesis import given
from hypothesis import strategies as st

from mpu_cli.commands.apply import Retagged, Rewriter
from mpu_cli.text.records import DEFAULT_FIELDS, Record, read_rows_and_records

TAGS = ("a", "b b", "é", "d")
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)
names = st.text(max_size=4).filter(lambda name: name.strip() not in ("text", "tags", "id", "added"))
tag_sets = st.sets(st.sampled_from(TAGS))


def rewritten(data: bytes, form: str, change: Retagged) -> str:
    rewriter = Rewriter(form, DEFAULT_FIELDS, "added")
    rows = read_rows_and_records(BytesIO(data), "x", form, DEFAULT_FIELDS)
    texts = []
    for row, record in rows:
        assert isinstance(record, Record), record
        own = Retagged(
            tuple(tag for tag in change.added if tag not in record.tags), change.removed.intersection(record.tags)
        )
        texts.append(rewriter.text(row, own))
    return "".join(texts)


def retagged(tags, change):
    return [tag for tag in tags if tag not in change.removed] + [tag for tag in change.added if tag not in tags]


@given(
    st.lists(
        st.tuples(st.dictionaries(names, values, max_size=4), tag_sets, st.booleans(), st.integers(0, 4)),
        min_size=1,
        max_size=5,
    ),
    tag_sets,
    tag_sets,
)
def test_objects(rows, added, removed):
    change = Retagged(tuple(sorted(added - removed)), frozenset(removed))
    before = []
    for others, tags, _, place in rows:
        fields = [*others.items()]
        fields.insert(place, ("tags", sorted(tags)))
        before.append(dict([*fields, ("text", "x")]))
    lines = [json.dumps(row, ensure_ascii=ascii_) for row, (_, _, ascii_, _) in zip(before, rows, strict=True)]
    text = rewritten("\n".join(lines).encode(errors="surrogatepass"), "jsonl", change)
    for old, line, new_line in zip(before, lines, text.split("\n"), strict=False):
        new = json.loads(new_line)
        expected = old | {"tags": retagged(old["tags"], change)}
        if more := [tag for tag in change.added if tag not in old["tags"]]:
            expected["added"] = more
        assert new == expected
        assert list(new) == list(expected)
        if expected == old:
            assert new_line == line


@given(
    st.sampled_from(["csv", "tsv"]),
    st.lists(
        st.tuples(st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=6), tag_sets), min_size=1
    ),
    tag_sets,
    tag_sets,
    st.sampled_from([";", "; "]),
)
def test_tables(form, rows, added, removed, between):
    change = Retagged(tuple(sorted(added - removed)), frozenset(removed))
    delimiter = "," if form == "csv" else "\t"
    out = StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(["note", "text", "tags", ""])
    writer.writerows([note, "x", between.join(sorted(tags)), "end"] for note, tags in rows)
    text = rewritten(out.getvalue().encode(), form, change)
    header, *after = csv.reader(StringIO(text, newline=""), delimiter=delimiter)
    assert header == ["note", "text", "tags", "", "added"]
    for (note, tags), (new_note, _, new_tags, end, more) in zip(rows, after, strict=True):
        assert (new_note, end) == (note, "end")
        assert [tag.strip() for tag in new_tags.split(";") if tag] == retagged(sorted(tags), change)
        assert more == ";".join(tag for tag in change.added if tag not in tags)


def test_the_last_of_equal_fields_counts_and_blanks_stay():
    line = ' { "tags" : ["a"] ,  "text":"x", "tags": [ "b" ]  } '
    text = rewritten(line.encode(), "jsonl", Retagged(("c",)))
    assert text == '{ "tags" : ["a"] ,  "text":"x", "tags": ["b", "c"], "added": ["c"]}\n'


def test_records_without_tags_get_the_field():
    assert rewritten(b'{"text": "x"}', "jsonl", Retagged(("c",))) == '{"text": "x", "tags": ["c"], "added": ["c"]}\n'
    assert rewritten(b"text\nx\n", "csv", Retagged(("c", "d"))) == "text,tags,added\nx,c;d,c;d\n"
    assert rewritten(b'{"text": "x", "tags": null}', "jsonl", Retagged(("c",))).startswith(
        '{"text": "x", "tags": ["c"]'
    )


def test_numbers_of_thousands_of_digits_stay():
    line = '{"n": ' + "1" * 4200 + ', "text": "x"}'
    assert rewritten(line.encode(), "jsonl", Retagged(("c",))).startswith(line[:-1])
