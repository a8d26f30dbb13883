"""Annif's document corpora: each kind becomes the same data, and accepted subjects go back into it."""

import csv
import gzip
import json
import os

import pytest

from tests.cli.tables import records, write_records
from tests.cli.training import message

VOCABULARY = "<https://e.org/a>\tApples\n<https://e.org/c>\tCars\n<https://e.org/s>\tSeas\n"
DOCUMENTS = [
    ("d1", "red apple sweet", ["a"]),
    ("d2", "blue car fast", ["c", "s"]),
    ("d3", "deep sea fish", []),
    ("d4", "old car, red apple", ["c"]),
]
KINDS = ("annif.tsv", "annif.tsv.gz", "corpus.csv", "corpus.jsonl", "folder", "keys", "objects")


def uris(names):
    return [f"https://e.org/{name}" for name in names]


def write(kind: str, folder):
    """Write the documents as one kind of corpus."""
    path = folder / kind
    if kind.startswith("annif.tsv"):
        lines = "".join(f"{text}\t{' '.join(f'<{u}>' for u in uris(names))}\n" for _, text, names in DOCUMENTS)
        path.write_bytes(gzip.compress(lines.encode()) if kind.endswith(".gz") else b"\xef\xbb\xbf" + lines.encode())
    elif kind == "corpus.csv":
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["document_id", "text", "subject_uris", "note"])
            writer.writerows([key, text, " ".join(uris(names)), "n"] for key, text, names in DOCUMENTS)
    elif kind == "corpus.jsonl":
        write_records(path, (document(*one) for one in DOCUMENTS))
    else:
        path.mkdir()
        subjects = {line.split("/")[3][0]: line for line in VOCABULARY.splitlines(keepends=True)}
        for key, text, names in DOCUMENTS:
            if kind == "objects":
                (path / f"{key}.json").write_text(json.dumps(document(key, text, names)), "utf-16")
                continue
            (path / f"{key}.txt").write_text(text, "utf-16" if kind == "keys" else None)
            lines = [subjects[name] for name in names]
            if kind == "folder" and names:
                (path / f"{key}.tsv").write_text("".join(lines))
            elif names:
                (path / f"{key}.key").write_text("".join(line.partition("\t")[2] for line in lines))
    return path


def document(key, text, names):
    subjects = [{"uri": uri} for uri in uris(names)]
    return {"document_id": key, "text": text, "metadata": {"title": "A title: apples"}, "subjects": subjects}


@pytest.fixture
def corpus(run, tmp_path):
    def make(kind: str):
        (tmp_path / "vocabulary.tsv").write_text(VOCABULARY)
        source, data = write(kind, tmp_path), tmp_path / "corpus.svm"
        options = "--labels", tmp_path / "vocabulary.tsv", "-o", data, "--min-df", 1, "--stem", "none"
        return source, data, run.json("vectorize", source, "--format", "annif", *options)

    return make


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_the_same_data(corpus, kind):
    _, data, report = corpus(kind)
    assert [line.split(" ")[0] for line in data.read_text().splitlines()] == ["1", "2,3", "", "2"]
    assert (report["instances"], report["annotations"], report["labels"], report["bad"]) == (4, 4, 3, 0)
    ids = data.with_suffix(".text") / "ids"
    assert ids.exists() != kind.startswith("annif.tsv")
    if ids.exists():
        assert ids.read_text().split() == ["d1", "d2", "d3", "d4"]


@pytest.mark.parametrize("kind", KINDS)
def test_accepted_subjects_go_back(run, corpus, kind, tmp_path):
    source, data, _ = corpus(kind)
    checked, new = tmp_path / "checked.tsv", tmp_path / ("new.jsonl" if source.is_dir() else "new")
    checked.write_text("instance\tlabel\tverdict\n3\tSeas\tyes\n4\tCars\tno\n4\tApples\tyes\n")
    form = "annif" if kind.startswith("annif") else "csv" if kind.endswith("csv") else "jsonl"
    options = "--data", data, "--reviewed", checked, "--remove-rejected"
    run.ok("apply", source, *options, "-o", new, "--format", form)
    if form == "annif":
        third, fourth = new.read_text().splitlines()[2:]
        assert third == "deep sea fish\t<https://e.org/s>"
        assert fourth == "old car, red apple\t<https://e.org/a>"
    elif form == "csv":
        with new.open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert [row["subject_uris"] for row in rows][2:] == ["<https://e.org/s>", "<https://e.org/a>"]
        assert rows[1] == {**rows[1], "subject_uris": "https://e.org/c https://e.org/s", "note": "n"}
    else:
        rows = records(new.read_text())
        assert [row["subjects"] for row in rows][2:] == [[{"uri": "https://e.org/s"}], [{"uri": "https://e.org/a"}]]


@pytest.mark.parametrize("kind", ["annif.tsv", "corpus.jsonl", "folder"])
def test_a_model_predicts_a_corpus(run, corpus, kind, tmp_path):
    source, data, _ = corpus(kind)
    run.ok("train", data, "--c", 0.9, "--cost", 30, "--epochs", 2, "--folds", 2, "-q")
    args = "predict", tmp_path / "corpus.mpu", "--format", "jsonl", "-q"
    rows = records(run.ok(*args, source, "--text-format", "annif").stdout)
    assert [row["id"] for row in rows] == (list("1234") if kind == "annif.tsv" else ["d1", "d2", "d3", "d4"])
    assert [row["labels"] for row in rows] == [row["labels"] for row in records(run(*args, data).stdout)]


@pytest.mark.parametrize("name", ["a.txt", "a.json", "a.key"])
def test_documents_are_regular_files(run, tmp_path, name):
    """A pipe was waited for."""
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "b.txt").write_text("text")
    os.mkfifo(corpus / name)
    result = run("vectorize", corpus, "-o", tmp_path / "o.svm")
    assert result.exit_code == 0 if name == "a.key" else message(result)  # a key of no document


@pytest.mark.parametrize("name", ["a.txt", "a.json"])
def test_documents_are_text_and_have_a_longest(run, tmp_path, name):
    """A sparse file of 1 GB took 14 GB."""
    (corpus := tmp_path / "corpus").mkdir()
    (corpus / name).write_bytes(b"\n")
    os.truncate(corpus / name, 1 << 30)
    assert f"{name}:2: this has NUL bytes" in message(run("vectorize", corpus, "-o", tmp_path / "o.svm"))
    (corpus / name).write_text((" " * 1023 + "\n") * (1 << 16) + " ")
    assert "is longer than 67,108,864 " in message(run("vectorize", corpus, "-o", tmp_path / "o.svm"))
