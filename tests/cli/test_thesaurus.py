"""From a thesaurus to suggestions: labels with a URI, further names, and broader labels."""

import json

import numpy as np
import pytest

from mpu_cli.bundle import load
from mpu_cli.core.explanation import explain
from mpu_cli.svmlight.reader import read
from tests.cli.tables import data_of_page, records, table, write_records
from tests.text.test_thesaurus import TURTLE

URI = "https://example.org/"
NUT = f"{URI}nut"
QUICK = "--c", 0.5, "--cost", 30, "--epochs", 5, "-q"
TEXTS = ["red apple sweet", "green apple sweet", "green pear sweet", "yellow pear soft", "brown walnut hard", "walnut"]
TAGS = [["Apple"], ["https://example.org/apple"], ["Pear"], ["<https://example.org/pear>"], ["Nuss"], ["Fruits"]]


@pytest.fixture(scope="module")
def vectors(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("thesaurus")
    (folder / "t.ttl").write_text(TURTLE)
    rows = ({"id": str(i), "text": TEXTS[i % 6], "tags": TAGS[i % 6]} for i in range(60))
    books = write_records(folder / "books.jsonl", rows)
    result = run.ok("vectorize", books, "--labels", folder / "t.ttl", "-o", folder / "books.svm")
    assert "has names in en, de: those in 'en' are used; --language chooses another" in result.stderr
    assert "1 deprecated concept of" in result.stderr
    assert "10 tags with the name of several labels" in result.stderr
    assert "'Apple' (10)" in result.stderr
    return folder


def test_tags_are_labels_by_any_name_and_by_uri(vectors):
    first = [line.split(" ")[0] for line in (vectors / "books.svm").read_text().splitlines()[:6]]
    assert first == ["1", "1", "5", "5", "3", "2"]


@pytest.fixture(scope="module")
def model(run, vectors, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m"
    run.ok("train", vectors / "books.svm", "-o", path, *QUICK, "--levels", 1)
    return path


def test_predictions_have_uris(run, model, tmp_path):
    out = tmp_path / "out"
    args = "predict", model, "--text", "apple", "--top-k", 5, "-o", out, "--format"
    run.ok(*args, "jsonl")
    (record,) = records(out.read_text())
    assert dict(zip(record["labels"], record["uris"], strict=True))["Pear"] == f"{URI}pear"
    run.ok(*args, "tsv")
    rows = table(out)
    assert {row["label"]: row["uri"] for row in rows}["Nuss"] == NUT


def test_predictions_have_what_their_labels_imply(run, model, tmp_path):
    args = "predict", model, "--text", "pear", "--fill-implied", "--top-k", 1, "--format"
    record = json.loads(run(*args, "jsonl").stdout)
    assert record["labels"] == ["Pear", "Fruit"]
    assert record["probabilities"][0] == record["probabilities"][1]
    assert record["uris"][1] == f"{URI}fruit"
    run.ok(*args, "tsv", "-o", tmp_path / "out")
    assert [row["label"] for row in table(tmp_path / "out")] == ["Pear", "Fruit"]
    assert run(*args, "labels").stdout == "2,5\n"
    (tmp_path / "not").write_text("Fruit\n")
    assert json.loads(run(*args, "jsonl", "--exclude", tmp_path / "not").stdout)["labels"] == ["Pear"]
    assert run(*args, "scores").exit_code == 2


def test_what_a_label_implies_is_not_suggested(run, vectors, tmp_path):
    out = tmp_path / "missing.tsv"
    run.ok("suggest", vectors / "books.svm", "--per-instance", 5, "-o", out, *QUICK)
    suggested = {(int(row["instance"]) - 1, row["label"]) for row in table(out)}
    with_fruit = {instance % 6 for instance, label in suggested if label == "Fruit"}
    assert with_fruit.issubset({4})  # all others have it, or a narrower one


def test_why_a_label_is_suggested(run, vectors, tmp_path):
    out, model = tmp_path / "missing.tsv", tmp_path / "books.mpu"
    options = vectors / "books.svm", *QUICK, "--levels", 2
    run.ok("train", *options, "-o", model)
    run.ok("suggest", *options, "--per-instance", 5, "-o", out, "--why")
    features, trained = read(vectors / "books.svm").features.toarray(), load(model)
    words = ["", *(vectors / "books.text" / "features").read_text().splitlines()]
    names = map(trained.names.written, trained.label_ids.tolist())
    weights = {name: explain(trained.predictor, k).features for k, name in enumerate(names)}
    rows = table(out)
    assert len(rows) > 20
    for row in rows:
        parts = features[int(row["instance"]) - 1] * weights[row["label"]]
        assert row["why"] == "; ".join(words[j] for j in np.argsort(-parts, kind="stable")[:5] if parts[j] > 0)
    why = [(TEXTS[(int(row["instance"]) - 1) % 6], row["why"].split("; ")) for row in table(out) if row["why"]]
    assert why
    assert all(word in text for text, words in why for word in words)


def test_the_page_has_the_next_broader_labels(run, vectors, tmp_path):
    run.ok("review", vectors / "books.svm", "-o", tmp_path / "review.html", "-q")
    data = data_of_page(tmp_path / "review.html")
    names = data["names"]
    shown = {names[int(i)]: [names[j] for j in above] for i, above in data["broader"].items()}
    assert shown == {"Apple": ["Fruit"], "Pear": ["Fruit"]}


def test_a_new_file_like_it_knows_the_broader_labels_too(run, vectors, tmp_path):
    run.ok("vectorize", vectors / "books.jsonl", "--like", vectors / "books.svm", "-o", tmp_path / "new.svm")
    assert (tmp_path / "new.text" / "broader").read_text() == "1\t2\n5\t2\n"


def test_records_get_the_broader_tags_that_theirs_imply(run, vectors, tmp_path):
    """Not where they are decided no, or the record is closed."""
    checked = tmp_path / "checked.tsv"
    checked.write_text("id\tlabel\tverdict\n1\tFruit\tno\n2\t*\tno\n4\t1\tyes\n7\t1\tno\n7\tNuss\tyes\n")
    args = "apply", vectors / "books.jsonl", "--fill-implied", "-o", tmp_path / "new.jsonl", "-q"
    done = run.json(*args, "--reviewed", checked, "--remove-rejected")
    rows = records((tmp_path / "new.jsonl").read_text())
    before = records((vectors / "books.jsonl").read_text())
    added = [[tag for tag in new["tags"] if tag not in old["tags"]] for old, new in zip(before, rows, strict=True)]
    assert added[:8] == [["Fruit"], [], [], ["Fruit"], ["Apple", "Fruit"], [], ["Fruit"], [NUT]]
    assert rows[7]["tags"] == [NUT]  # its own tag was a URI, too
    assert (done["decided"], done["implied"]) == (2, sum(map(len, added)) - 2)
    run.ok(*args)
    lines = (tmp_path / "new.jsonl").read_text().splitlines()
    assert [sum(fruit in line for line in lines) for fruit in ('"Fruit"', f'"{URI}fruit"')] == [30, 10]


@pytest.fixture(scope="module")
def with_deprecated(run, tmp_path_factory):
    """Records of which some have a deprecated concept, by name, URI or id, and others lack it."""
    folder = tmp_path_factory.mktemp("deprecated")
    (folder / "t.ttl").write_text(TURTLE.replace(":old ", ":old7 "))
    rows = []
    for i in range(40):
        of_text = {
            "red apple sweet": "Apple",
            "round pome hard": ("Pome", f"{URI}old7", "old7", "http://example.org/old7", "gnd:old7")[i // 5 % 5],
            "yellow pear": "Pear",
        }
        rows += [{"text": text, "tags": [tag] * (i % 5 > 0)} for text, tag in of_text.items()]
    books = write_records(folder / "b.jsonl", rows)
    done = run.ok("vectorize", books, "--language", "en", "--labels", folder / "t.ttl", "-o", folder / "b.svm")
    assert "not among the names" not in done.stderr
    assert "2 tags taken for labels by the ids that end their URIs, such as 'old7' for 'Pome'" in done.stderr
    return folder


def test_a_deprecated_concept_that_records_have_is_a_label_after_the_others(run, with_deprecated, tmp_path):
    assert (with_deprecated / "b.text" / "labels").read_text().splitlines()[5:] == [f"Pome\t{URI}old7"]
    assert (with_deprecated / "b.text" / "deprecated").read_text() == "6\n"
    run.ok("vectorize", with_deprecated / "b.jsonl", "--like", with_deprecated / "b.svm", "-o", tmp_path / "c.svm")
    assert (tmp_path / "c.text" / "deprecated").read_text() == "6\n"


@pytest.mark.slow
def test_a_deprecated_concept_is_not_suggested(run, with_deprecated, tmp_path):
    listed = {}
    (tmp_path / "only").write_text("Pome\n1\nPear\n")
    for name, options in (("usual", ()), ("only", ("--only", tmp_path / "only"))):
        target = tmp_path / f"{name}.tsv"
        run.ok("suggest", with_deprecated / "b.svm", "--top", 24, "-o", target, "--levels", 1, "-q", *options)
        listed[name] = {row["label"] for row in table(target)}
    assert "Pome" not in listed["usual"]
    assert {"Pome", "Pear"} <= listed["only"]
    page = tmp_path / "page.html"
    run.ok("review", with_deprecated / "b.svm", "--suggestions", tmp_path / "only.tsv", "-o", page)
