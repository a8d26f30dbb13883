"""Data and the directory beside them: what belongs to other data is an error, or left out, and never used."""

import gzip

import pytest

from mpu_cli.cli.actions import vectorize
from tests.cli.tables import write_records
from tests.cli.training import QUICK, message


def make(run, folder):
    for name, words in {"v": ("red", "green"), "w": ("sun", "w")}.items():
        rows = ({"id": f"{name}{i}", "text": f"{words[i % 2]} {name} {i}", "tags": [words[i % 2]]} for i in range(20))
        run.ok("vectorize", write_records(folder / f"{name}.jsonl", rows), "-o", folder / f"{name}.svm")
        run.ok("train", folder / f"{name}.svm", *QUICK)


@pytest.fixture
def folder(copied):
    """Two data files of 20 texts each, with other words, names and ids; and a model of each."""
    return copied(make)


@pytest.fixture
def mixed(folder):
    """The directory of the first beside the data of the second."""
    (folder / "v.svm").write_bytes((folder / "w.svm").read_bytes())
    return folder


COMMANDS = {
    "train": lambda f: ("train", f / "v.svm", *QUICK, "-o", f / "out"),
    "suggest": lambda f: ("suggest", f / "v.svm", *QUICK, "-o", f / "out"),
    "review": lambda f: ("review", f / "v.svm", "-o", f / "out"),
    "evaluate": lambda f: ("evaluate", f / "v.svm", f / "v.mpu", "--per-label", "--json"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_with_names_of_its_own_the_rest_is_left_out(run, mixed, command):
    """A model does not keep the vectoriser of other data."""
    result = run.ok(*COMMANDS[command](mixed), "--labels", mixed / "w.text" / "labels")
    assert ("v.text: belongs to other data" in result.stderr) == (command.split()[0] in ("train", "suggest"))
    assert command != "train" or not run.json("info", mixed / "out")["knows_texts"]


@pytest.mark.parametrize("lost", ["manifest.json", "features", "idf.bin"])
def test_a_vectoriser_that_lost_a_file_is_missed(run, folder, lost):
    (folder / "v.text" / lost).unlink()
    assert "warning: the model will not be able to read texts" in run.ok(*COMMANDS["train"](folder)).stderr
    assert not run.json("info", folder / "out")["knows_texts"]


def test_a_compressed_copy_belongs_to_the_same_directory(run, folder):
    (folder / "w.svm.gz").write_bytes(gzip.compress((folder / "w.svm").read_bytes()))
    (folder / "w.svm").unlink()
    run.ok("train", folder / "w.svm.gz", *QUICK, "-o", folder / "out")
    assert run.json("info", folder / "out")["knows_texts"]
    run.ok("predict", folder / "out", folder / "w.svm.gz", "--format", "jsonl")


@pytest.mark.parametrize("command", ["train", "suggest", "review"])
def test_a_kill_between_the_two_renames_leads_to_no_wrong_names(run, folder, monkeypatch, command):
    """The new directory is there, and the old data file."""

    class KilledError(BaseException):
        pass

    def kill(*arguments):
        raise KilledError

    (folder / "v.jsonl").write_bytes((folder / "w.jsonl").read_bytes())
    with monkeypatch.context() as patched, pytest.raises(KilledError):
        patched.setattr("pathlib.Path.replace", kill)
        vectorize.vectorize(folder / "v.jsonl", folder / "v.svm")
    assert (folder / "v.text" / "ids").read_bytes() == (folder / "w.text" / "ids").read_bytes()
    assert "v.text/labels: " in message(run(*COMMANDS[command](folder)))
    run.ok("vectorize", folder / "v.jsonl", "-o", folder / "v.svm")
    run.ok(*COMMANDS[command](folder))
