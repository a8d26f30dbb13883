"""`mpu apply`: accepted tags go back into the records that data were made of."""

import gzip
import json

import pytest

from tests.cli.tables import records, write_records
from tests.line_limit import line_limit

TOPICS = {"red apple sweet": ["fruit", "food"], "green pear sweet": ["fruit"], "blue car fast": ["car"], "old car": []}
HEADER = "instance\tlabel\tverdict\n"


@pytest.fixture
def collection(run, tmp_path):
    """Records, in which only some fields matter, and the data file made of them."""

    def make(ids: bool = True):
        path = tmp_path / "books.jsonl"
        rows = [
            {"n": i, **({"id": f"b{i}"} if ids else {}), "tags": tags, "text": text, "more": f'"{i}", é'}
            for i, (text, tags) in enumerate(TOPICS.items())
        ]
        path.write_text("".join(json.dumps(row, ensure_ascii=bool(row["n"] % 2)) + "\n" for row in rows))
        run.ok("vectorize", path, "-o", tmp_path / "books.svm", "-q", "--min-df", 1)
        return path

    return make


@pytest.fixture
def decided(file):
    return lambda *rows: file(HEADER + "".join("\t".join(row.split()) + "\n" for row in rows), "checked.tsv")


def objects(path):
    return records(path.read_text())


def added(before, after):
    both = zip(objects(before), objects(after), strict=True)
    return [[tag for tag in new["tags"] if tag not in old["tags"]] for old, new in both]


def test_only_tags_change(run, collection, decided, tmp_path):
    books, new = collection(), tmp_path / "new.jsonl"
    checked = decided("1 car yes", "1 food no", "2 fruit yes", "3 food no", "4 car yes", "4 * no")
    result = run.ok("apply", books, "--reviewed", checked, "-o", new)
    assert result.stderr.endswith("4 records, 2 of them changed: 2 tags added (2 decided), 0 removed\n")
    before, after = books.read_text().splitlines(), new.read_text().splitlines()
    assert [old == line for old, line in zip(before, after, strict=True)] == [False, True, True, False]
    assert objects(new)[0] == objects(books)[0] | {"tags": ["fruit", "food", "car"]}
    assert objects(new)[3] == objects(books)[3] | {"tags": ["car"]}
    assert list(objects(new)[0]) == ["n", "id", "tags", "text", "more"]


def test_a_tag_is_written_as_its_uri_if_its_name_is_ambiguous_or_as_its_notation(run, decided, tmp_path):
    """Read again, the new records say what was decided."""
    books, new, uri = tmp_path / "books.jsonl", tmp_path / "new.jsonl", "https://x.org/"
    (tmp_path / "names").write_text(f"<{uri}a>\tbank\t33\n<{uri}b>\tbank\tb\t55\n<{uri}c>\tbed\n<{uri}9>\tcar\n")
    write_records(books, [{"text": f"a {tag}", "tags": [tag]} for tag in ("bank", "bed", "33")])
    run.ok("vectorize", books, "--labels", tmp_path / "names", "-q", "-o", tmp_path / "books.svm")
    checked = decided("1 3 yes", "2 1 yes", "2 2 yes", "3 2 yes", "3 3 yes", "3 4 yes")
    run.ok("apply", books, "--reviewed", checked, "-o", new)
    tags = [["bank", "bed"], ["bed", "bank", f"{uri}b"], ["33", "55", "bed", "9"]]
    assert [one["tags"] for one in objects(new)] == tags
    run.ok("vectorize", new, "--like", tmp_path / "books.svm", "-q", "-o", tmp_path / "new.svm")
    assert [line.split()[0] for line in (tmp_path / "new.svm").read_text().splitlines()] == ["1,3", "1,2,3", "1,2,3,4"]


def test_rejected_tags_are_removed_where_that_is_asked(run, collection, decided, tmp_path):
    books, new = collection(), tmp_path / "new.jsonl"
    checked = decided("1 food no", "3 food no")
    report = run.json("apply", books, "--reviewed", checked, "--remove-rejected", "-o", new)
    others = dict.fromkeys(("added", "decided", "suggested", "implied", "absent"), 0)
    assert report == {"records": 4, "changed": 1, "removed": 1, "warnings": []} | others
    assert [row["tags"] for row in objects(new)] == [["fruit"], ["fruit"], ["car"], []]


def test_a_field_called_subjects_is_no_corpus_of_annif(run, decided, tmp_path):
    rows = [{"text": text, "subjects": tags} for text, tags in TOPICS.items()]
    books, new = write_records(tmp_path / "books.jsonl", rows), tmp_path / "new.jsonl"
    data = tmp_path / "data.svm"  # its name says nothing: that it was made of the records is enough
    run.ok("vectorize", books, "--tags", "subjects", "-o", data, "-q", "--min-df", 1)
    run.ok("apply", books, "--reviewed", decided("1 car yes"), "-o", new)
    assert objects(new) == [rows[0] | {"subjects": ["fruit", "food", "car"]}, *rows[1:]]


def test_suggestions_count_from_a_probability_unless_decided(run, collection, decided, tmp_path):
    books, new = collection(), tmp_path / "new.jsonl"
    suggestions = tmp_path / "missing.tsv"
    suggestions.write_text(
        "instance\tlabel\tprobability\tverdict\n"
        "1\tcar\t0.9\t\n2\tcar\t0.8\t\n3\tfood\t0.7\t\n4\tfood\t0.95\t\n4\tcar\t0.95\tno\n"
    )
    options = "--suggestions", suggestions, "--min-probability", 0.8
    checked = decided("4 food no", "1 food yes", "1 car yes", *(f"{i} fruit no" for i in range(1, 5)))
    result = run("apply", books, *options, "--reviewed", checked, "-o", new, "--yes")
    assert result.stderr.endswith("changed: 2 tags added (1 decided, 1 suggested), 0 removed\n")
    assert added(books, new) == [["car"], ["car"], [], []]

    new.unlink()
    refused = run("apply", books, *options, "-o", new)
    assert (refused.exit_code, new.exists()) == (1, False)
    assert "1 decision on suggestions cannot show how many of the list are right" in refused.stderr
    closed = decided(*(f"{i} * no" for i in range(1, 5)))  # which decides the five suggestions
    assert "5 decisions on suggestions" in run("apply", books, *options, "--reviewed", closed, "-o", new).stderr
    others = "instance\tlabel\tdrawn\tverdict\tsource\n"
    others += "".join(f"{i}\t{k}\t0.1\tno\tquestion\n" for i in range(1, 5) for k in range(11, 16))
    (tmp_path / "others.tsv").write_text(others)
    refused = run("apply", books, *options, "--reviewed", tmp_path / "others.tsv", "-o", new)
    assert (refused.exit_code, "1 decision on suggestions cannot show" in refused.stderr) == (1, True)
    (tmp_path / "others.tsv").write_text(others.replace("question", "suggestion"))  # of an earlier list
    run.ok("apply", books, *options, "--reviewed", tmp_path / "others.tsv", "-o", new)
    run.ok("apply", books, *options, "--yes", "-o", new)
    assert added(books, new) == [["car"], ["car"], [], ["food"]]
    nothing = run("apply", books, "--suggestions", suggestions, "--min-probability", 0.99, "--yes", "-o", new)
    assert "no suggestion was added" in nothing.stderr


def test_what_a_person_rejected_is_not_added_by_its_probability(run, collection, decided, file, tmp_path):
    """Even if another person accepted it, or if it is one of all other labels."""
    books, new = collection(), tmp_path / "new.jsonl"
    suggested = "instance\tlabel\tprobability\tverdict\n1\tcar\t0.9\t\n2\tcar\t0.9\t\n3\tfood\t0.9\t\n"
    options = "--suggestions", file(suggested, "missing.tsv"), "--min-probability", 0.8, "--yes"
    one, other = decided("1 car no", "3 * no"), file(f"{HEADER}1\tcar\tyes\n", "other.tsv")
    run.ok("apply", books, *options, "--reviewed", one, "--reviewed", other, "-o", new)
    assert added(books, new) == [[], ["car"], [], []]


def test_records_are_matched_by_their_ids(run, collection, decided, tmp_path):
    first, _, third, _ = objects(collection())
    rows = [{"id": "b9", "tags": [], "text": "new"}, third | {"tags": ["car", "fruit"]}, first]
    other, new = write_records(tmp_path / "edited.jsonl", rows), tmp_path / "new.jsonl"
    checked = decided("1 car yes", "3 fruit yes", "4 car yes")
    unknown = run("apply", other, "--reviewed", checked, "-o", new)
    assert "edited.jsonl: no data files beside it were made of these records by mpu vectorize" in unknown.stderr
    result = run("apply", other, "--data", tmp_path / "books.svm", "--reviewed", checked, "-o", new)
    assert "warning: 1 instance with decisions is not in" in result.stderr
    tags = {"b9": [], "b2": ["car", "fruit"], "b0": ["fruit", "food", "car"]}
    assert [(row["id"], row["tags"]) for row in objects(new)] == list(tags.items())


def test_records_without_ids_are_matched_by_their_order(run, collection, decided, tmp_path):
    books, new = collection(ids=False), tmp_path / "new.jsonl"
    checked = decided("4 car yes")
    run.ok("apply", books, "--reviewed", checked, "-o", new)
    assert objects(new)[3] == objects(books)[3] | {"tags": ["car"]}
    lines, options = books.read_bytes().splitlines(keepends=True), ("--reviewed", checked, "-o", new)
    new.unlink()
    for others in (lines[:-1], lines[::-1]):
        books.write_bytes(b"".join(others))
        result = run("apply", books, *options)
        assert (result.exit_code, new.exists()) == (1, False)
        assert "is not the file that" in result.stderr
    run.ok("apply", "-", "--data", tmp_path / "books.svm", "--format", "jsonl", *options, stdin=b"".join(lines))
    copy = tmp_path / "copy.jsonl.gz"
    copy.write_bytes(gzip.compress(b"".join(lines)))
    run.ok("apply", copy, "--data", tmp_path / "books.svm", *options)


def test_bad_records_that_were_left_out_are_copied(run, decided, tmp_path):
    books, new = tmp_path / "books.jsonl", tmp_path / "new.jsonl"
    bad = b"}", b'{"text": "\xff"}', b'{"text": "%s"}' % (b"x" * 1_500), b'{"text": 7}'
    lines = [one for i in range(4) for one in (bad[i], b'{"text": "red apple", "tags": ["fruit"]}')] + [b"no record"]
    books.write_bytes(b"\n".join(lines))
    with line_limit(500):
        run.ok("vectorize", books, "--skip-bad", "-o", tmp_path / "books.svm", "-q", "--min-df", 1)
        run.ok("apply", books, "--reviewed", decided("3 fruit no"), "-o", new, "--remove-rejected")
    lines[5] = lines[5].replace(b'"fruit"', b"")
    assert new.read_bytes().split(b"\n") == lines


@pytest.mark.parametrize(
    ("rows", "options", "problem"),
    [
        (["9 car yes"], (), "there is no instance 9"),
        (["1 9 yes"], (), "label 9 has no name, so it cannot be added here"),
        (["1 carr yes"], (), "carr"),
        (["1 car yes"], ("--data", "nowhere.svm"), "nowhere"),
    ],
)
def test_what_cannot_be_applied_is_refused(run, collection, decided, tmp_path, rows, options, problem):
    books, new = collection(), tmp_path / "new.jsonl"
    result = run("apply", books, "--reviewed", decided(*rows), "-o", new, *options)
    assert (result.exit_code, new.exists()) == (1, False)
    assert problem in result.stderr


def test_an_id_twice_is_refused_where_it_matters(run, collection, decided, tmp_path):
    """Also one that only the records have twice."""
    books, new = collection(), tmp_path / "new.jsonl"
    text, options = books.read_text(), ("-o", new, "--reviewed")
    books.write_text(text + text.splitlines()[2] + "\n")
    only_there = run("apply", books, *options, decided("3 car yes"))
    assert (only_there.exit_code, new.exists()) == (1, False)
    assert f"{books}:5: several records have the id 'b2'" in only_there.stderr
    run.ok("apply", books, *options, decided("2 car yes"))
    new.unlink()
    books.write_text(text.replace('"b1"', '"b0"'))
    run.ok("vectorize", books, "-o", tmp_path / "books.svm", "-q", "--min-df", 1)
    result = run("apply", books, *options, decided("2 car yes"))
    assert (result.exit_code, new.exists()) == (1, False)
    assert "several records have the id 'b0'" in result.stderr
    run.ok("apply", books, *options, decided("3 fruit yes"))


def test_a_tag_with_the_separator_is_refused(run, tmp_path, decided):
    books, names = tmp_path / "books.csv", tmp_path / "names"
    books.write_text("text,tags\nred apple,fruit\nred car,\n")
    names.write_text("fruit\ncar; fast\n")
    run.ok("vectorize", books, "-o", tmp_path / "books.svm", "--labels", names, "--min-df", 1, "-q")
    result = run("apply", books, "--reviewed", decided("2 2 yes"), "-o", tmp_path / "new.csv")
    assert result.exit_code == 1
    assert f"{books}:3: the tag 'car; fast' cannot be written here" in result.stderr


@pytest.mark.parametrize("tag", ["<p>", "{x}", "|a|"])
@pytest.mark.parametrize("rows", ["3 {} yes", "1 art no"])
def test_a_lone_tag_that_looks_like_a_list_is_refused(run, tmp_path, decided, tag, rows):
    """Also where another tag is removed; with others, it is no list."""
    books, new = tmp_path / "books.csv", tmp_path / "new.csv"
    books.write_text(f"text,tags\nred apple,{tag}; art\nred car,art\nred pear,\n")
    options = "-o", new, "--remove-rejected"
    run.ok("vectorize", books, "-o", tmp_path / "books.svm", "--min-df", 1, "-q")
    result = run("apply", books, "--reviewed", decided(rows.format(tag)), *options)
    assert (result.exit_code, new.exists()) == (1, False)
    assert f"the tag {tag!r} cannot be written here" in result.stderr
    run.ok("apply", books, "--reviewed", decided(f"2 {tag} yes"), *options)
    assert f"red car,art;{tag}\n" in new.read_text()


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-8-sig"])
def test_a_table_keeps_its_encoding(run, decided, tmp_path, encoding):
    mark = "\ufeff" * encoding.startswith("utf-16")
    before = mark + "id;text;tags\r\nä;red apple;müde,fruit\r\n;;\r\nb;ripe pear;\r\nc;fruit;müde\r\n"
    books, new = tmp_path / "books.csv", tmp_path / "new.csv"
    books.write_bytes(before.encode(encoding))
    run.ok("vectorize", books, "--separator", ",", "--min-df", 1, "-q", "-o", tmp_path / "books.svm")
    run.ok("apply", books, "--reviewed", decided("2 müde yes"), "-o", new)
    assert new.read_bytes() == before.replace("pear;", "pear;müde").encode(encoding)
