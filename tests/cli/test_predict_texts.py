"""``mpu predict`` of texts, by a model of data that `mpu vectorize` made of texts."""

import gzip
import json

import pytest

from tests.cli.training import QUICK, message

TOPICS = {"Sport": "the team won a match in the league", "Politics": "the minister spoke in parliament about a law"}


def make(run, folder):
    records = [
        {"id": f"{topic}{i}", "title": text, "text": f"{i % 7}x", "subjects": [topic]}
        for i in range(40)
        for topic, text in TOPICS.items()
    ]
    (folder / "news.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    fields = ("--text", "title", "--text", "text", "--tags", "subjects")
    run.ok("vectorize", folder / "news.jsonl", *fields, "-o", folder / "news.svm")
    run.ok("train", folder / "news.svm", *QUICK)
    new = [
        {"id": "a", "title": "A match", "text": "of the league"},
        {"id": "b", "title": None, "text": "Parliament, laws"},
    ]
    (folder / "new.jsonl").write_text("".join(json.dumps(record) + "\n" for record in new))
    like = ("--like", folder / "news.svm")
    run.ok("vectorize", folder / "new.jsonl", *like, "-o", folder / "new.svm")
    for path in folder.glob("news.text/*"):  # the model has what it needs
        path.unlink()


@pytest.fixture
def folder(copied):
    """Texts, their vectors, a model of them, and new texts with their vectors."""
    return copied(make)


@pytest.mark.parametrize("form", ["labels", "scores", "jsonl", "tsv"])
def test_texts_give_what_their_vectors_give(run, folder, form):
    of_vectors = run("predict", folder / "news.mpu", folder / "new.svm", "--format", form)
    of_texts = run("predict", folder / "news.mpu", folder / "new.jsonl", "--format", form)
    assert (of_texts.exit_code, of_texts.stderr) == (0, of_vectors.stderr)
    assert of_texts.stdout == of_vectors.stdout
    (folder / "new.jsonl.gz").write_bytes(gzip.compress((folder / "new.jsonl").read_bytes()))
    assert run("predict", folder / "news.mpu", folder / "new.jsonl.gz", "--format", form).stdout == of_vectors.stdout


def test_the_labels_have_their_names(run, folder):
    result = run("predict", folder / "news.mpu", folder / "new.jsonl", "--format", "jsonl", "--top-k", 1)
    records = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(record["id"], record["labels"]) for record in records] == [("a", ["Sport"]), ("b", ["Politics"])]


def test_texts_of_standard_input(run, folder):
    table = b"title,text\nA match,of the league\n"
    result = run("predict", folder / "news.mpu", "-", "--text-format", "csv", "--format", "jsonl", stdin=table)
    assert json.loads(result.stdout)["id"] == "1"
    assert json.loads(result.stdout)["labels"][0] == "Sport"


def test_texts_of_the_command_line(run, folder):
    texts = ("--text", "A match of the league", "--text", "Parliament, laws")
    result = run("predict", folder / "news.mpu", *texts, "--format", "jsonl", "--top-k", 1)
    assert [json.loads(line)["labels"] for line in result.stdout.splitlines()] == [["Sport"], ["Politics"]]
    assert [json.loads(line)["id"] for line in result.stdout.splitlines()] == ["1", "2"]


def test_a_damaged_vectoriser_of_a_model(run, folder):
    (file,) = (folder / "news.mpu").glob("vectorizer-*")
    file.write_bytes(file.read_bytes()[:-1])
    assert "damaged" in message(run("predict", folder / "news.mpu", folder / "new.jsonl"))


@pytest.mark.parametrize("source", ["new.jsonl", "new.svm"])
def test_json_lines_say_why(run, folder, source):
    args = ("predict", folder / "news.mpu", folder / source, "--format", "jsonl", "--top-k", 2, "-q")
    rows = [json.loads(line) for line in run(*args, "--why").stdout.splitlines()]
    assert [dict(row, why=None) for row in rows] == [
        json.loads(line) | {"why": None} for line in run(*args).stdout.splitlines()
    ]
    why = [dict(zip(row["labels"], row["why"], strict=True)) for row in rows]
    assert {"match", "leagu"} <= {*why[0]["Sport"]}
    assert {"parliament", "law"} <= {*why[1]["Politics"]}
    assert "match" not in why[0]["Politics"]
    assert all(len(words) <= 5 for of_one in why for words in of_one.values())
