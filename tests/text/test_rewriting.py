"""Records written back: what is read again is what was there, but for the tags; without a change, the same bytes."""

import csv
import json
from dataclasses import replace
from io import BytesIO, StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpu_cli.errors import InputError
from mpu_cli.text.records import DEFAULT_FIELDS, Fields, RecordReader, form_and_fields
from mpu_cli.text.rewriting import Retagged, Rewriter

TAGS = ("a", "b b", "é", "d")
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)
names = st.text(max_size=4).filter(lambda name: name.strip() not in ("text", "tags", "id"))
CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=6)
tag_sets = st.sets(st.sampled_from(TAGS))


def rewritten(data: bytes, form: str, change: Retagged) -> str:
    def own(record):
        tags = tuple(tag for tag in change.added if tag not in record.tags)
        return Retagged(tags, change.removed.intersection(record.tags))

    return written(form, DEFAULT_FIELDS, data, own)


def written(form: str, fields: Fields, data: bytes, change_of) -> str:
    return b"".join(Rewriter(RecordReader("x", form, fields)).written(BytesIO(data), change_of)).decode()


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
        assert (new, list(new)) == (expected, list(expected))
        if expected == old:
            assert new_line == line


@given(
    st.sampled_from(["csv", "tsv"]),
    st.lists(st.tuples(CELLS, tag_sets), min_size=1),
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
    assert header == ["note", "text", "tags", ""]
    for (note, tags), (new_note, _, new_tags, end) in zip(rows, after, strict=True):
        assert (new_note, end) == (note, "end")
        assert [tag.strip() for tag in new_tags.split(";") if tag] == retagged(sorted(tags), change)


def test_records_without_tags_get_the_field():
    assert rewritten(b'{"text": "x"}', "jsonl", Retagged(("c",))) == '{"text": "x", "tags": ["c"]}'
    changes = iter([Retagged({"c": "decided", "d": "decided"}), Retagged()])
    table = written("csv", DEFAULT_FIELDS, b"text\nx\ny\n", lambda record: next(changes))
    assert table == "text,tags\nx,c;d\ny,\n"
    assert rewritten(b'{"text": "x", "tags": null}', "jsonl", Retagged(("c",))) == '{"text": "x", "tags": ["c"]}'


@given(
    st.sampled_from([",", "\t"]),
    st.lists(st.tuples(CELLS, st.sampled_from(["", "a", "a;d", "d; a"]), st.booleans()), min_size=1),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["", "\n", "\r\n\r\n"]),
)
def test_rows_without_a_change_are_the_same_bytes(delimiter, rows, end, has_mark, has_end, blank):
    """Whatever is quoted, with a byte order mark, either line end, and lines that are empty."""

    def line(cells, quoting):
        out = StringIO()
        csv.writer(out, delimiter=delimiter, quoting=quoting).writerow(cells)
        return out.getvalue().removesuffix("\r\n")

    quoting = {True: csv.QUOTE_ALL, False: csv.QUOTE_MINIMAL}
    lines = [line([note, "x", tags], quoting[is_quoted]) for note, tags, is_quoted in rows]
    lines.insert(0, delimiter.join(["note", "text", "tags"]))
    before = "\ufeff" * has_mark + end.join(lines) + has_end * (end + blank)
    form = "csv" if delimiter == "," else "tsv"
    assert rewritten(before.encode(), form, Retagged()) == before


@pytest.mark.parametrize(
    ("form", "before", "after"),
    [
        ("csv", '\ufefftext,tags,n\r\n"x",a,"1"\r\n\r\ny,b,""\r\n', "\ufefftext,tags,n\r\nx,a;c,1\r\n\r\ny,b;c,\r\n"),
        ("csv", 'n,text,tags,m\n"1\n2",x,"a",z\n3,y,', 'n,text,tags,m\n"1\n2",x,a;c,z\n3,y,c,'),
        ("csv", '"text","tags"\n"x","a"\n', '"text","tags"\n"x","a;c"\n'),
        ("jsonl", '\ufeff {"text":"x","tags":["a"]} \r\n\r\n', '\ufeff {"text":"x","tags":["a","c"]} \r\n\r\n'),
    ],
)
def test_changed_rows_keep_line_ends_and_the_values_of_other_cells(form, before, after):
    assert rewritten(before.encode(), form, Retagged(("c",))) == after
    assert rewritten(before.encode(), form, Retagged()) == before


def test_a_corpus_of_lines_keeps_them():
    before = "\ufeffone\t<http://e.org/1>\r\n\r\ntwo \t<http://e.org/2>  <http://e.org/1>\r\n"
    fields = form_and_fields("corpus.tsv", "annif")[1]
    changes = iter([Retagged({"http://e.org/3": "decided"}), Retagged()])
    after = written("annif", fields, before.encode(), lambda record: next(changes))
    assert after == before.replace("/1>", "/1> <http://e.org/3>", 1)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("['a', \"d\"]", "['a', 'c']"),
        ('["a","d"]', '["a","c"]'),
        ("['a' 'd']", "['a' 'c']"),
        ("{a,d}", '{"a","c"}'),
        ("<a few words><d>", "<a few words><c>"),
        ("|a|d|", "|a|c|"),
        ("('a', 'd')", "('a', 'c')"),
        ("[]", '["c"]'),
    ],
)
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_list_in_one_text_keeps_its_form(form, before, after):
    def file(tags):
        out = StringIO()
        csv.writer(out, lineterminator="\n").writerows([["text", "tags"], ["x", tags]])
        return json.dumps({"text": "x", "tags": tags}) if form == "jsonl" else out.getvalue()

    change = Retagged(("c",), frozenset("d" if "d" in before else ""))
    assert rewritten(file(before).encode(), form, change) == file(after)
    assert rewritten(file(before).encode(), form, Retagged()) == file(before)


@pytest.mark.parametrize(("form", "are_texts"), [("csv", True), ("jsonl", True), ("jsonl", False)])
def test_letters_are_escaped_only_after_the_file_has_shown_that(form, are_texts):
    def file(rows, escaped):
        lists = [json.dumps(tags, ensure_ascii=row in escaped) for row, tags in enumerate(rows)]
        if form == "jsonl":
            texts = (json.dumps(text, ensure_ascii=False) if are_texts else text for text in lists)
            return "".join(f'{{"text": "x", "tags": {text}}}\n' for text in texts)
        out = StringIO()
        csv.writer(out, lineterminator="\n").writerows([["text", "tags"], *(["x", text] for text in lists)])
        return out.getvalue()

    rows = [["a\n\\u00e9"], ["é"], ["a"], ["d"]]
    after = [[*row, "ü"] for row in rows]
    for escaped in ((1, 2, 3), ()):
        assert rewritten(file(rows, escaped).encode(), form, Retagged(("ü",))) == file(after, escaped)


def test_rows_without_tags_get_a_list_where_others_have_one():
    after = 'text,tags\nx,"[""a"", ""b;c""]"\ny,"[""b;c""]"\n'
    assert rewritten(b'text,tags\nx,"[""a""]"\ny,\n', "csv", Retagged(("b;c",))) == after
    with pytest.raises(InputError, match=r"x:2: the tag 'b;c' cannot be written here.*lists, such as"):
        rewritten(b"text,tags\nx,a\n", "csv", Retagged(("b;c",)))


def test_tags_that_are_numbers_stay_numbers():
    before = '{"text":"x","tags":[7]}\n{"text":"y","tags":[]}\n{"text":"z","tags":["a"]}\n'
    after = '{"text":"x","tags":[7,3]}\n{"text":"y","tags":[3]}\n{"text":"z","tags":["a","3"]}\n'
    assert rewritten(before.encode(), "jsonl", Retagged(("3",))) == after


@pytest.mark.parametrize(
    ("yes", "no"), [("1", "0"), ("1.0", "0.0"), ("True", "False"), ("TRUE", "FALSE"), ("yes", "no"), ("x", "")]
)
def test_fields_that_are_tags_keep_their_form(yes, no):
    fields = replace(DEFAULT_FIELDS, tags=("a", "b"), are_tags=True)
    before, after = (f"text;a;b\r\nx;{yes};{no}\r\ny;{one};{other}\r\n" for one, other in ((yes, no), (no, yes)))
    changes = iter([Retagged(), Retagged({"b": "decided"}, frozenset("a"))])
    assert written("csv", fields, before.encode(), lambda record: next(changes)) == after


def test_fields_that_are_tags_are_found_whatever_blanks_and_accents_their_names_have():
    """The record has no value yet in the first field; the second is the same tag as the third."""
    fields = replace(DEFAULT_FIELDS, tags=("Cafe\u0301\nbar", " art ", "art"), are_tags=True)
    rows = [["yes", "0", "0"], ["NaN", "yes", "yes"]], [["yes", "0", "0"], ["yes", "no", "no"]]
    before, after = (
        "".join(json.dumps(dict(zip(("text", *fields.tags), ("x", *row), strict=True))) + "\n" for row in some)
        for some in rows
    )
    changes = iter([Retagged(), Retagged({"Caf\u00e9 bar": "decided"}, frozenset(["art"]))])
    assert written("jsonl", fields, before.encode(), lambda record: next(changes)) == after


def test_all_but_the_tags_of_a_json_object_is_the_same_bytes():
    """Numbers as they were written, also too large ones; repeated names, of which the last counts; and escapes."""
    before = '{ "n": 12.50, "n":1e400, "\\u0074ext": "\\/é", "tags": [], "m": {"tags" : ["a"] ,"x":1}, "tags": ["a"] }'
    after = before.removesuffix('["a"] }') + '["b"] }'
    change = Retagged(("b",), frozenset("a"))
    assert rewritten(before.encode(), "jsonl", change) == after
    fields = replace(DEFAULT_FIELDS, tags=("m.tags", "o.p.tags"))
    after = written("jsonl", fields, before.encode(), lambda record: change)
    assert after == before.replace('["a"] ,', '["b"] ,')
