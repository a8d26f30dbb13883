"""``mpu review``: what is put on the page, and what is refused. The page itself: tests/review."""

import bz2
import gzip
import json

import pytest

from mpu_cli.review.decisions import checksum
from mpu_cli.svmlight import reader
from tests.cli.tables import data_of_page

NEWS = "1,3 1:0.5 2:-2 5:0.125\n2 1:1\n 2:1\n3 3:1\n"


@pytest.fixture
def news(file):
    return file(NEWS, "news.svm")


@pytest.fixture
def data_of(run, news, tmp_path):
    """The data on the page that ``mpu review`` makes with these arguments."""

    def made(*arguments) -> dict:
        run.ok("review", news, *arguments, "-o", tmp_path / "review.html")
        return data_of_page(tmp_path / "review.html")

    return made


def test_all_instances(data_of, news):
    data = data_of()
    assert [item["n"] for item in data["items"]] == [1, 2, 3, 4]
    assert [item["a"] for item in data["items"]] == [[0, 2], [1], [], [2]]
    assert data["items"][0]["f"] == [["2", -2.0], ["1", 0.5], ["5", 0.125]]
    assert (data["numbers"], data["counts"], data["named"]) == ([1, 2, 3], [1, 1, 2], False)
    assert (data["file"], data["source"]) == ("news.svm", "")
    assert data["checksum"] == checksum(reader.read(news).features)


def test_says_what_there_is(run, news, tmp_path):
    result = run("review", news, "-o", tmp_path / "r.html", "--log-format", "json")
    last = json.loads(result.stderr.splitlines()[-1])
    assert (last["instances"], last["suggestions"], last["labels"]) == (4, 0, 3)
    assert result.stdout == ""


def test_from_standard_input_to_standard_output(run, news, data_of, tmp_path):
    data_of()
    result = run("review", "-", "-o", "-", "-q", stdin=NEWS.encode())
    expected = (tmp_path / "review.html").read_text().replace('"file":"news.svm"', '"file":"standard input"')
    assert result.stdout == expected


def test_a_sample_is_drawn_by_the_seed_and_grows(data_of):
    def drawn(*options) -> list[int]:
        data = data_of(*options)
        assert data["source"] == "sample"
        return [item["n"] for item in data["items"]]

    three = drawn("--sample", 3, "--seed", 1)
    assert (drawn("--sample", 3, "--seed", 1), drawn("--sample", 2, "--seed", 1)) == (three, three[:2])
    assert sorted(drawn("--sample", 4)) == [1, 2, 3, 4]
    assert len({tuple(drawn("--sample", 3, "--seed", seed)) for seed in range(10)}) > 3


def test_suggestions_by_the_most_probable(data_of, file, news):
    rows = "4\t2\t0.9\t\n1\t9\t0.25\t\n1\t2\t0.5\t\n2\t3\t.1\tno\n3\t*\t\tno\n1\t3\t.99\t\n4\t2\t0.7\t\n2\t1\t\t\n"
    head = f"# checksum {checksum(reader.read(news).features)}\ninstance\tlabel\tprobability\tverdict\n"
    data = data_of("--suggestions", file(head + rows, "missing.tsv"))
    assert data["source"] == "suggestion"
    shown = [(item["n"], [[data["numbers"][i], p] for i, p in item["s"]]) for item in data["items"]]
    assert shown == [(4, [[2, 0.9]]), (1, [[2, 0.5], [9, 0.25]]), (2, [[1, None]])]
    assert (data["numbers"], data["counts"]) == ([1, 2, 3, 9], [1, 1, 2, 0])


def test_a_sample_with_suggestions_stays_a_sample(data_of, file):
    missing = file("instance\tlabel\tverdict\n1\t2\t\n", "missing.tsv")
    data = data_of("--suggestions", missing, "--sample", 4)
    assert data["source"] == "sample"
    assert {item["n"]: len(item["s"]) for item in data["items"]} == {1: 1, 2: 0, 3: 0, 4: 0}


TEXTS = {
    "t.txt": "a\tb\n\nc\r\n d",
    "t.txt.gz": gzip.compress(b"a\tb\n\nc\n d\n"),
    "t.jsonl": '{"t": "a\\tb", "u": 1}\n{"t": null}\n{"t": "c"}\n{"t": " d"}\n',
    "t.csv": '\ufeffu,t\r\n1,"a\tb"\r\n2,""\r\n3,c\r\n4, d\r\n',
    "t.tsv.bz2": bz2.compress(b'u\tt\n1\t"a\tb"\n2\t\n3\tc\n4\t d\n'),
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts(data_of, file, name):
    field = () if ".txt" in name else ("--text-field", "t")
    data = data_of("--text", file(TEXTS[name], name), *field)
    assert [item["t"] for item in data["items"]] == ["a\tb", "", "c", " d"]
    assert "f" not in data["items"][0]


def test_the_only_field_needs_no_name(data_of, file):
    data = data_of("--text", file('abstract\n"two\nlines"\nb\nc\nd\n', "t.csv"))
    assert [item["t"] for item in data["items"]] == ["two\nlines", "b", "c", "d"]


def test_names(data_of, file):
    labels, features = file("ä\nb\n\nd\ne\n", "tags"), file("one\ntwo\n", "words")
    data = data_of("--labels", labels, "--features", features)
    assert (data["numbers"], data["names"]) == ([1, 2, 3, 4, 5], ["ä", "b", "3", "d", "e"])
    assert [name for name, _ in data["items"][0]["f"]] == ["two", "one", "5"]
