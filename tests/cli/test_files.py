"""The files of a command: none is read and replaced at once, what is no regular file is not waited for, none stays."""

import pytest

from tests.cli.training import QUICK, TINY
from tests.folders import contents
from tests.golden import assert_worded


@pytest.fixture
def folder(tiny_model, tmp_path):
    """Data, a model of them and its predictions, and a second name for each."""
    folder = tmp_path / "w"
    folder.mkdir()
    (folder / "x.svm").write_text(TINY)
    tiny_model.rename(folder / "x.mpu")
    (folder / "x.jsonl").write_text('{"text": "one text"}\n')
    (folder / "soft.jsonl").symlink_to("x.jsonl")
    (folder / "soft.svm").symlink_to("x.svm")
    (folder / "hard.svm").hardlink_to(folder / "x.svm")
    (folder / "soft.mpu").symlink_to("x.mpu")
    (folder / "lost.svm").symlink_to("typo/../x.svm")
    return folder


MISSING = ("--missing-rate", "0.5")
OVERLAPS = {  # others: tests/golden/refusals.txt
    "corrupt to a link": ("corrupt", "x.svm", "soft.svm", *MISSING),
    "predictions through nothing": ("predict", "x.mpu", "x.svm", "-o", "lost.svm"),
    "predictions over FILE by a link": ("predict", "x.mpu", "soft.svm", "-o", "x.svm"),
    "predictions into MODEL, new": ("predict", "soft.mpu", "x.svm", "-o", "../w/x.mpu/tags"),
    "a test set that is learned from": ("train", "x.svm", *QUICK, "--accept-on", "hard.svm"),
    "a page over FILE": ("review", "x.svm", "-o", "soft.svm"),
    "a data file over the texts": ("vectorize", "x.jsonl", "-o", "soft.jsonl"),
}


@pytest.mark.parametrize("name", OVERLAPS)
def test_what_would_be_lost_is_refused(run, folder, monkeypatch, name):
    monkeypatch.chdir(folder)
    before = contents(folder)
    result = run(*OVERLAPS[name])
    assert (result.exit_code, result.stdout) == (1 if "lost.svm" in OVERLAPS[name] else 2, "")
    (line,) = result.stderr.splitlines()
    assert_worded(line)
    assert contents(folder) == before


def test_what_is_not_read_is_replaced(run, folder):
    """A file of numbers is none of names, and data are no document of the directory they are in."""
    (folder / "texts").mkdir()
    for i in range(20):
        (folder / "texts" / f"{i}.txt").write_text("radio waves")
        (folder / "texts" / f"{i}.tsv").write_text(f"<u:{i % 2}>\tlabel {i % 2}\n")
    for _ in range(2):
        run.ok("vectorize", folder / "texts", "-o", folder / "texts" / "a.svm")
        run.ok("vectorize", folder / "texts", "--labels", folder / "texts/a.text/labels", "-o", folder / "texts/a.svm")
        run.ok("estimate-c", folder / "texts" / "a.svm", "-o", folder / "texts" / "c.tsv")
        run.ok("predict", folder / "x.mpu", folder / "x.svm", "-o", folder / "x.labels")
        run.ok("vectorize", folder / "x.jsonl", "-o", folder / "y.svm", "--min-df", 1)


@pytest.mark.parametrize(
    ("stream", "arguments"),
    [("stdin", ("corrupt", "-", "x.svm", *MISSING)), ("redirected", ("predict", "x.mpu", "x.svm"))],
)
def test_a_stream_that_is_another_file_of_the_command(start, folder, stream, arguments):
    """To append to what is read would never end."""
    with (folder / "x.svm").open("r+b" if stream == "stdin" else "ab") as file:
        _, said, status = start(*arguments, **{stream: file.fileno()}, cwd=folder).end()
    assert (status, said.count("\n")) == (2, 1)
    assert (folder / "x.svm").read_text() == TINY


@pytest.mark.parametrize("damage", [b"", b"\0" * 100, b'{"format": "mpu mod', b'{\n "format": "mpu model",\n'])
def test_a_damaged_model_can_be_trained_again(run, folder, damage):
    (folder / "x.mpu" / "manifest.json").write_bytes(damage)
    run.ok("train", folder / "x.svm", *QUICK)
    run.ok("predict", folder / "x.mpu", folder / "x.svm")
