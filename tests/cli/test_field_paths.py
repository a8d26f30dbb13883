"""Fields within objects of JSON lines, such as ``meta.tags``: every command that takes records finds them."""

import pytest

from tests.cli.tables import records as rows_of
from tests.cli.tables import write_records

RECORDS = [
    ("a", "red apple sweet", ["fruit"]),
    ("b", "green pear sweet", ["fruit", "food"]),
    ("c", "blue car fast", ["car"]),
    ("d", "old car fast", []),
]
FIELDS = "--text", "meta.title", "--tags", "meta.tags", "--id", "meta.id"


def write(path, records=RECORDS):
    rows = ({"meta": {"id": key, "title": text, "tags": tags}, "n": 1} for key, text, tags in records)
    return write_records(path, rows)


@pytest.fixture
def books(run, tmp_path):
    path = write(tmp_path / "books.jsonl")
    run.ok("vectorize", path, *FIELDS, "--min-df", 1, "-q", "-o", tmp_path / "books.svm")
    return path


def labels_of(data):
    return [line.split(" ")[0] for line in data.read_text().splitlines()]


def test_the_page_shows_the_text_of_each_record(run, books, tmp_path):
    other = write(tmp_path / "other.jsonl", RECORDS[::-1])
    for option in ((), ("--text", other), ("--text", other, "--text-field", "meta.title")):
        run.ok("review", tmp_path / "books.svm", *option, "-o", tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text()
        places = [page.index(text) for _, text, _ in RECORDS]
        assert places == sorted(places)


def test_tags_are_added_and_removed_where_they_are(run, books, tmp_path):
    checked, new = tmp_path / "checked.tsv", tmp_path / "new.jsonl"
    checked.write_text("instance\tlabel\tverdict\n1\tfood\tyes\n2\tfood\tno\n4\tcar\tyes\n")
    options = "--reviewed", checked, "--remove-rejected"
    run.ok("apply", books, *options, "-o", new)
    before, after = (rows_of(path.read_text()) for path in (books, new))
    before[0]["meta"] |= {"tags": ["fruit", "food"]}
    before[1]["meta"] |= {"tags": ["fruit"]}
    before[3]["meta"] |= {"tags": ["car"]}
    assert after == before
    run.ok("vectorize", new, "--like", tmp_path / "books.svm", "-o", tmp_path / "new.svm")
    fruit, food, car = (labels_of(tmp_path / "books.svm")[i] for i in (0, 1, 2))
    assert labels_of(tmp_path / "new.svm") == [food, fruit, car, car]
