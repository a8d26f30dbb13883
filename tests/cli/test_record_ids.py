"""Ids of records and names of labels in files that people see: written, read back, refused where they differ."""

import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.cli.tables import data_of_page, table, write_records
from tests.cli.training import message

TOPICS = {"apple": "fruit", "pear": "fruit", "car": "=wheels", "bus": "=wheels"}


@pytest.fixture
def books(run, tmp_path):
    """Records with ids, titles and abstracts, and the data file made of them."""
    (tmp_path / "in").mkdir()
    rows = [
        {"id": f"b{i}", "title": f"Of {word}", "abstract": f"a sweet {word}" * (i != 3), "tags": [tag][: i % 5]}
        for i, (word, tag) in enumerate(list(TOPICS.items()) * 15)
    ]
    path, data = write_records(tmp_path / "in" / "books.jsonl", rows), tmp_path / "books.svm"
    run.ok("vectorize", path, "--text", "title", "--text", "abstract", "--min-df", 1, "-o", data, "-q")
    return SimpleNamespace(records=path, data=data, rows=rows)


@pytest.fixture
def page_of(run, books, tmp_path):
    def made(*arguments):
        result = run.ok("review", books.data, *arguments, "-o", tmp_path / "review.html")
        return data_of_page(tmp_path / "review.html"), result.stderr

    return made


QUICK = ("--cost", "1", "--eta0", "0.5", "--epochs", "2", "--folds", "2", "--c", "0.8", "--prior", "0")


def test_suggestions_have_ids_and_names(run, books, tmp_path):
    out = tmp_path / "missing.tsv"
    run.ok("suggest", books.data, "--top", 8, *QUICK, "-o", out, "-q")
    rows = table(out)
    assert list(rows[0]) == ["instance", "id", "label", "probability", "verdict", "source"]
    assert {row["id"] == f"b{int(row['instance']) - 1}" for row in rows} == {True}
    assert {row["label"] for row in rows} <= {"fruit", "'=wheels"}


REVIEWS = {
    "number and id": "instance\tid\tlabel\tverdict\n1\tb0\tfruit\tyes\n",
    "id alone": "id\tlabel\tverdict\nb0\tfruit\tyes\n",
    "id alone, of the data before a change": f"# checksum {'0' * 64}\nid\tlabel\tverdict\nb0\tfruit\tyes\n",
    "number alone": "instance\tlabel\tverdict\n1\t2\tyes\n",
    "either": "instance\tid\tlabel\tverdict\n1\t\t2\tyes\n\tb5\tfruit\tyes\n",
}


@pytest.mark.parametrize("case", REVIEWS)
def test_reviews_by_id_or_number(run, books, tmp_path, file, case):
    checked = file(REVIEWS[case], "checked.tsv")
    new = tmp_path / "new.jsonl"
    run.ok("apply", books.records, "--data", books.data, "--reviewed", checked, "-o", new, "-q")
    assert json.loads(new.read_text().splitlines()[0])["tags"] == ["fruit"]
    run.ok("train", books.data, "--reviewed", checked, *QUICK, "-q")
    assert run("review", books.data, "--suggestions", checked, "-o", tmp_path / "r.html").exit_code == 1  # all decided


def test_numbers_of_labels_are_read_where_names_are_not(run, tmp_path, file):
    (tmp_path / "n.svm").write_text("1 1:1\n2 2:1\n" * 10)
    checked = file("instance\tlabel\tnumber\tverdict\n1\tsports\t2\tyes\n", "checked.tsv")
    run.ok("train", tmp_path / "n.svm", "--reviewed", checked, *QUICK[:-2], "-q")
    (tmp_path / "tags").write_text("music\nart\n")
    message(run("train", tmp_path / "n.svm", "--reviewed", checked, "--labels", tmp_path / "tags", "-q"))


def test_the_page_finds_texts_titles_and_ids_by_itself(page_of, books):
    data, said = page_of("--link", "https://library.example/{id}")
    assert f"texts: {books.records}, title, abstract" in said
    first = data["items"][0]
    assert (first["i"], first["h"], first["t"]) == ("b0", "Of apple", "a sweet apple")
    assert (data["items"][3]["t"], data["link"]) == ("", "https://library.example/{id}")
    assert data["written"] == {str(data["names"].index("=wheels")): "'=wheels"}


def test_texts_are_those_of_the_ids_where_records_have_changed_and_features_where_there_are_none(page_of, books):
    write_records(books.records, [{"id": "new", "title": "New", "abstract": ""}, *books.rows[:0:-1]])
    data, said = page_of()
    assert "is not the file that the data were made from; name them by --text" in said
    assert "f" in data["items"][1]
    data, said = page_of("--text", books.records)
    assert data["items"][1]["h"] == books.rows[1]["title"]
    assert "has no text of 1 instance, by the ids" in said
    assert "f" in data["items"][0]
    books.records.unlink()
    data, said = page_of()
    assert "no texts are shown" in said
    assert "f" in data["items"][0]


@pytest.mark.parametrize("kind", ["file", "pipe", "device", "directory"])
def test_a_manifest_puts_no_other_file_into_the_page(page_of, books, tmp_path, kind):
    """A manifest that others made named ../.ssh/id_ed25519, and the page had the key in it."""
    secret = Path("/dev/zero") if kind == "device" else tmp_path / "secret"
    if kind == "file":
        secret.write_text("PRIVATE KEY\n" * len(books.rows))
    elif kind == "pipe":
        os.mkfifo(secret)
    elif kind == "directory":
        secret.mkdir()
        for number in range(len(books.rows)):
            (secret / f"{number}.txt").write_text("PRIVATE KEY")
    manifest = books.data.with_suffix(".text") / "manifest.json"
    values = json.loads(manifest.read_text())
    values["records"] |= {"file": os.path.relpath(secret, books.data.parent), "form": "annif"}
    values["fields"]["text"] = ["text"]
    manifest.write_text(json.dumps(values))
    data, said = page_of()
    assert "no texts are shown" in said
    assert "PRIVATE" not in json.dumps(data)
