"""``mpu predict`` of texts, by a model of data that `mpu vectorize` made of texts."""

import gzip

import pytest

from tests.cli.tables import records, write_records
from tests.cli.training import QUICK, message

TOPICS = {"Sport": "the team won a match in the league", "Politics": "the minister spoke in parliament about a law"}


def make(run, folder):
    texts = [(i, *topic) for i in range(40) for topic in TOPICS.items()]
    rows = ({"id": f"{name}{i}", "title": text, "text": f"{i % 7}x", "subjects": [name]} for i, name, text in texts)
    fields = ("--text", "title", "--text", "text", "--tags", "subjects")
    run.ok("vectorize", write_records(folder / "news.jsonl", rows), *fields, "-o", folder / "news.svm")
    run.ok("train", folder / "news.svm", *QUICK)
    match, laws = {"title": "A match", "text": "of the league"}, {"title": None, "text": "Parliament, laws"}
    new = write_records(folder / "new.jsonl", [{"id": "a"} | match, {"id": "b"} | laws])
    run.ok("vectorize", new, "--like", folder / "news.svm", "-o", folder / "new.svm")
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


def test_the_labels_of_texts_on_the_command_line_have_their_names(run, folder):
    texts = ("--text", "A match of the league", "--text", "Parliament, laws")
    rows = records(run("predict", folder / "news.mpu", *texts, "--format", "jsonl", "--top-k", 1).stdout)
    assert [row["id"] for row in rows] == ["1", "2"]
    assert [row["labels"] for row in rows] == [["Sport"], ["Politics"]]


def test_texts_without_a_word_that_the_model_knows_are_counted(run, folder):
    texts = ("--text", "A match of the league", "--text", "", "--text", "qqq")
    assert "2 of 3 texts without " in run("predict", folder / "news.mpu", *texts).stderr
    assert "1 of 1 text without " in run("predict", folder / "news.mpu", *texts[2:4]).stderr
    assert "text" not in run("predict", folder / "news.mpu", *texts[:2]).stderr


def test_texts_of_standard_input(run, folder):
    table = b"title,text\nA match,of the league\n"
    result = run("predict", folder / "news.mpu", "-", "--text-format", "csv", "--format", "jsonl", stdin=table)
    (row,) = records(result.stdout)
    assert (row["id"], row["labels"][0]) == ("1", "Sport")


def test_a_damaged_vectoriser_of_a_model(run, folder):
    (file,) = (folder / "news.mpu").glob("vectorizer-*")
    file.write_bytes(file.read_bytes()[:-1])
    assert "damaged" in message(run("predict", folder / "news.mpu", folder / "new.jsonl"))


@pytest.mark.parametrize("source", ["new.jsonl", "new.svm"])
def test_json_lines_say_why(run, folder, source):
    args = ("predict", folder / "news.mpu", folder / source, "--format", "jsonl", "--top-k", 2, "-q")
    rows = records(run(*args, "--why").stdout)
    why = [dict(zip(row["labels"], row.pop("why"), strict=True)) for row in rows]
    assert rows == records(run(*args).stdout)
    assert {"match", "leagu"} <= {*why[0]["Sport"]}
    assert {"parliament", "law"} <= {*why[1]["Politics"]}
    assert "match" not in why[0]["Politics"]
    assert all(len(words) <= 5 for of_one in why for words in of_one.values())
