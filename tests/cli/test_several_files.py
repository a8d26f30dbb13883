"""Commands read several FILEs as one, and features and labels in two, as the Extreme Classification Repository has."""

import gzip
import hashlib
import os
import threading

import pytest

from tests.cli.tables import write_records
from tests.cli.training import QUICK, TINY, message
from tests.folders import model_files

PARTS = ("1 1:1\n2 2:1\n", "", "1,2 1:1 2:1\n3 3:0.5\n", " 1:1 3:2\n")  # TINY, cut; the second one is empty


@pytest.fixture
def parts(tmp_path):
    """The lines of TINY in four files, one of them compressed."""
    assert "".join(PARTS) == TINY
    paths = [tmp_path / f"part-{number}.svm" for number in range(4)]
    paths[2] = tmp_path / "part-2.svm.gz"
    for path, text in zip(paths, PARTS, strict=True):
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return paths


@pytest.fixture
def model(tiny_model):
    """The model of TINY as one file."""
    return model_files(tiny_model)


@pytest.mark.parametrize("third", ["a file", "standard input", "a pipe"])
def test_several_files_give_the_model_of_one(run, parts, model, tmp_path, third):
    stdin = None
    if third == "standard input":
        parts[2], stdin = "-", PARTS[2].encode()
    elif third == "a pipe":
        parts[2] = tmp_path / "pipe"
        os.mkfifo(parts[2])
        threading.Thread(target=parts[2].write_text, args=(PARTS[2],), daemon=True).start()
    assert run.json("train", *parts, *QUICK, "-o", tmp_path / "parts.mpu", stdin=stdin)["instances"] == 5
    assert model_files(tmp_path / "parts.mpu") == model


def test_the_order_of_instances_is_that_of_the_files(run, parts, tmp_path):
    """Reviews number instances through all files, and their checksum is that of the instances in this order."""
    whole = tmp_path / "review.tsv"
    run.ok("suggest", *parts, *QUICK[:6], "--levels", 1, "--top", 3, "-o", whole)
    (checksum,) = (line for line in whole.read_text().splitlines() if line.startswith("# checksum"))
    decided = tmp_path / "decided.tsv"
    decided.write_text(f"{checksum}\ninstance\tlabel\tverdict\n5\t2\tyes\n")
    options = (*QUICK, "-o", tmp_path / "m.mpu", "--reviewed", decided)
    assert run.json("train", *parts, *options)["review"]["found"] == 1
    message(run("train", *reversed(parts), *options))
    decided.write_text("instance\tlabel\tverdict\n6\t2\tyes\n")
    message(run("train", *parts, *options))


def test_info_tells_every_file(run, parts, tmp_path):
    run.ok("train", *parts, *QUICK, "-o", tmp_path / "m.mpu")
    origin = run.json("info", tmp_path / "m.mpu")["origin"]
    assert origin["source"] == f"{parts[0]} and 3 more files"
    for file, path in zip(origin["files"], parts, strict=True):
        data = path.read_bytes()
        assert file == {"name": str(path), "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    assert origin["others"] == []


def test_names_beside_one_file_are_those_of_all(run, parts, tmp_path):
    (tmp_path / "part-2.labels").write_text("one\ntwo\nthree\n")
    run.ok("train", *parts, *QUICK, "-o", tmp_path / "m.mpu")
    assert run.json("info", tmp_path / "m.mpu")["named"] == 3
    (tmp_path / "part-0.labels").write_text("one\ntwo\n")
    run.ok("train", *parts, *QUICK, "-o", tmp_path / "m.mpu")
    assert run.json("info", tmp_path / "m.mpu")["named"] == 3
    (tmp_path / "part-0.labels").write_text("one\ntwo\nfour\n")
    options = ("--labels", tmp_path / "part-2.labels")
    run.ok("train", *parts, *QUICK, *options, "-o", tmp_path / "other.mpu")


def test_rules_beside_the_files_are_those_of_all(run, parts, tmp_path):
    """Where they agree, as names do."""
    (tmp_path / "part-2.implied").write_text("1 2\n3 2\n")
    (tmp_path / "part-0.implied").write_text("1 2\n")
    run.ok("train", *parts, *QUICK, "-o", tmp_path / "m.mpu")
    (tmp_path / "x.svm").write_text(" 1:1\n")
    args = "predict", tmp_path / "m.mpu", tmp_path / "x.svm", "--top-k", 1, "--fill-implied", "-q"
    assert run(*args).stdout == "1,2\n"


def test_the_same_vectoriser_beside_each_is_kept(run, tmp_path):
    for name, words in {"a": "red green", "b": "green blue"}.items():
        rows = ({"text": f"{word} {word} day", "tags": [word]} for word in words.split() * 3)
        write_records(tmp_path / f"{name}.jsonl", rows)
    run.ok("vectorize", tmp_path / "a.jsonl", "-o", tmp_path / "a.svm", "--min-df", 1)
    run.ok("vectorize", tmp_path / "b.jsonl", "-o", tmp_path / "b.svm", "--like", tmp_path / "a.svm")
    train = "train", tmp_path / "a.svm", tmp_path / "b.svm", *QUICK, "-o", tmp_path / "m.mpu"
    assert "will not know" not in run.ok(*train).stderr
    assert run.json("info", tmp_path / "m.mpu")["knows_texts"] is True
    run.ok("vectorize", tmp_path / "b.jsonl", "-o", tmp_path / "b.svm", "--min-df", 1)
    (tmp_path / "b.text" / "labels").write_bytes((tmp_path / "a.text" / "labels").read_bytes())
    assert "is of another vectoriser than" in run(*train).stderr


# Features and labels in two files


@pytest.fixture
def pair(tmp_path):
    """TINY in two files."""
    features, labels = tmp_path / "trn_X_Xf.txt", tmp_path / "trn_X_Y.txt"
    rows = [line.split(" ", 1) for line in TINY.splitlines()]
    features.write_text("5 4\n" + "".join(f"{pairs}\n" for _, pairs in rows))
    labels.write_text("5 4\n" + "".join(f"{ids.replace(',', ':1 ')}:1\n" if ids else "\n" for ids, _ in rows))
    return features, labels


def test_train_and_predict(run, pair, tiny, tiny_model, tmp_path):
    for number, files in enumerate((pair[:1], pair, pair[::-1])):
        model = tmp_path / f"{number}.mpu"
        run.ok("train", *files, *QUICK, "-o", model)
        assert model_files(model) == model_files(tiny_model)
    predicted = [run("predict", tiny_model, file, "--format", "scores").stdout for file in (*pair, tiny)]
    assert (predicted[0].count("\n"), len(set(predicted))) == (5, 1)


def test_corrupt_writes_one_file(run, pair, tiny, tmp_path):
    out = tmp_path / "out.svm"
    run.ok("corrupt", pair[0], out, "--missing-rate", 0.4)
    of_pair = out.read_text()
    run.ok("corrupt", tiny, out, "--missing-rate", 0.4)
    assert of_pair == "5 4 4\n" + out.read_text()
