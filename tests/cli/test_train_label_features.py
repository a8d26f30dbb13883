"""``mpu train`` where names of labels teach: from texts, or with ``--label-features``."""

import json
import re

import pytest

from mpu_cli import bundle
from mpu_cli.text.vectorizer import read_vectorization
from tests.cli.tables import records, table, write_records

QUICK = ("--levels", 1, "--c", 0.9, "--cost", 30, "--eta0", 8, "--epochs", 5)
SUBJECTS = ("television", "football", "chemistry", "painting", "railways", "R")


@pytest.fixture
def texts(run, tmp_path):
    """Vectors of texts in which the subjects stand; railways and R are names that no text is annotated with."""
    pairs = [(i, subject) for i in range(12) for subject in SUBJECTS[:4]]
    rows = ({"id": f"{name}{i}", "text": f"a note on {name} no {i % 9}", "tags": [name]} for i, name in pairs)
    (tmp_path / "names").write_text("".join(f"{subject}\n" for subject in SUBJECTS))
    vectorize(run, tmp_path, rows)
    return tmp_path


def vectorize(run, folder, rows):
    notes = write_records(folder / "notes.jsonl", rows)
    run.ok("vectorize", notes, "--labels", folder / "names", "-o", folder / "notes.svm")


def predicted(run, folder, text):
    result = run("predict", folder / "notes.mpu", "--text", text, "--format", "jsonl", "--top-k", 1)
    return json.loads(result.stdout)["labels"][0]


@pytest.mark.parametrize("names", [None, [*SUBJECTS[:4], "R", "railways"]], ids=["beside", "given"])
def test_a_name_that_is_never_annotated_is_predicted(run, texts, names):
    (texts / "given").write_text("\n".join(names or ()))
    result = run.ok("train", texts / "notes.svm", *QUICK, "--prior", 15, *(("--labels", texts / "given") * bool(names)))
    assert "6 labels, 2 of them never annotated" in result.stdout
    assert "features of labels" in result.stdout
    assert predicted(run, texts, "a book on railways") == "railways"
    assert predicted(run, texts, "on chemistry") == "chemistry"


def test_the_prior_is_recorded_and_chosen(run, texts):
    run.ok("train", texts / "notes.svm", *QUICK)
    assert bundle.load(texts / "notes.mpu").options["prior"] in (0, 7.5, 15, 30, 60)
    report = run.json("train", texts / "notes.svm", *QUICK, "--prior", 20)
    assert (report["prior"], report["labels"], report["labels_never_annotated"]) == (20, 6, 2)
    assert bundle.load(texts / "notes.mpu").options["prior"] == 20


def test_a_file_of_label_features_does_the_same(run, texts):
    run("train", texts / "notes.svm", *QUICK, "--prior", 15)
    of_names = run.ok("predict", texts / "notes.mpu", texts / "notes.svm", "--format", "scores").stdout
    vectorizer, labels = read_vectorization(texts / "notes.svm")
    vectors = vectorizer.transform_names(labels.names)
    rows = (" ".join(f"{j + 1}:{x!r}" for j, x in zip(row.indices, row.data.tolist(), strict=True)) for row in vectors)
    file = texts / "vectors.svm"
    file.write_text("".join(f"{k} {row}\n" for k, row in enumerate(rows, 1)))
    (texts / "notes.text").rename(texts / "kept")
    run.ok("train", texts / "notes.svm", *QUICK, "--prior", 15, "--label-features", file)
    assert run.ok("predict", texts / "notes.mpu", texts / "notes.svm", "--format", "scores").stdout == of_names


def test_missing_labels_are_found_by_name(run, texts):
    """A text on railways that is annotated with nothing gets the suggestion."""
    new = {"id": "new", "text": "a note on railways and railways", "tags": []}
    vectorize(run, texts, [*records((texts / "notes.jsonl").read_text()), new])
    (texts / "only").write_text("R\nrailways\n")
    options = *QUICK, "--prior", 15, "--per-instance", 1, "--only", texts / "only"
    result = run.ok("suggest", texts / "notes.svm", *options)
    assert "unused" not in result.stderr
    assert "\tR\t" not in result.stdout  # nothing distinguishes the instances that lack it
    assert re.search(r"^49\tnew\trailways\t", result.stdout, re.MULTILINE)
    assert "of those listed are of labels that are never annotated" in result.stderr


def test_features_of_names_alone_are_known_to_the_model_unless_names_do_not_teach(run, texts):
    run("train", texts / "notes.svm", *QUICK, "--prior", 15)
    assert run("predict", texts / "notes.mpu", "--text", "railways").stderr == ""
    run("train", texts / "notes.svm", *QUICK, "--prior", "none")
    assert predicted(run, texts, "railways") != "railways"
    assert "their features never occurred" in run("predict", texts / "notes.mpu", "--text", "railways").stderr


@pytest.mark.slow
def test_a_suggestion_that_was_rejected_is_known(run, texts):
    """Also of a label that is never annotated."""
    (texts / "checked.tsv").write_text("instance\tlabel\tverdict\n1\trailways\tno\n")
    options = (*QUICK, "--prior", 15, "--reviewed", texts / "checked.tsv")
    assert "true nowhere" not in run("train", texts / "notes.svm", *options).stderr
    run("suggest", texts / "notes.svm", *options, "--per-instance", 5, "-o", texts / "missing.tsv")
    rows = [(row["instance"], row["label"]) for row in table(texts / "missing.tsv")]
    assert ("2", "railways") in rows
    assert ("1", "railways") not in rows
