"""`mpu train --oof` and `--history`."""

import os

import pytest

from mpu_cli.cli.actions.train import append
from mpu_cli.inputs import training_data
from tests.cli.tables import records
from tests.cli.training import QUICK, message
from tests.forked import PROCESSES

BYTE = os.fsdecode(b"\xff")  # not UTF-8, as in file names


@pytest.fixture
def history(tmp_path):
    return tmp_path / "history.jsonl"


def test_out_of_fold_predictions_are_evaluated_like_others(run, digits, tmp_path):
    train, _ = digits
    options = ("--cost", 30, "--epochs", 5, "--levels", 1, "-o", tmp_path / "d.mpu", "--c", 1)
    report = run.json("train", train, *options, "--oof", tmp_path / "oof.txt")
    assert len((tmp_path / "oof.txt").read_text().splitlines()) == report["instances"]
    found = run.json("evaluate", train, tmp_path / "oof.txt")
    assert found["micro_f1"] == pytest.approx(report["expected_micro_f1"], abs=0.005)
    assert found["precision_at_1"] > 0.8
    assert run.json("evaluate", train, tmp_path / "d.mpu")["micro_f1"] > found["micro_f1"]


def test_out_of_fold_predictions_are_of_all_instances_of_the_first_file_however_few_are_drawn(run, tmp_path):
    for name, times in (("x.svm", 300), ("more.svm", 5)):
        (tmp_path / name).write_text("1 1:1\n2 2:1\n" * times)
    arguments = ("train", tmp_path / "x.svm", "--c", 0.5, "--cost", 30, "--epochs", 1, "--sample", 50)
    run.ok(*arguments, "--fully-labelled", tmp_path / "more.svm", "--oof", tmp_path / "oof.txt", "-q")
    lines = (tmp_path / "oof.txt").read_text().splitlines()
    assert len(lines) == 600
    assert all(":" in line for line in lines)


def test_each_training_adds_a_line(run, tiny, history):
    tiny = tiny.rename(tiny.with_stem(f"tiny{BYTE}"))
    report = run.json("train", tiny, *QUICK, "--history", history)
    run("train", tiny, *QUICK, "--c", 1, "--history", history, "-q")
    first, second = records(history.read_text())
    assert first["file"] == second["file"] == str(tiny).replace(BYTE, "\\xff")
    for name in ("model", "instances", "features", "labels", "c", "expected_micro_f1"):
        assert first[name] == report[name]
    assert first["annotations"] > 0
    assert first["seconds"] > 0
    assert second["c"] == 1


def test_a_file_that_grows_while_it_is_read_is_refused(run, tiny, monkeypatch):
    """The model had learned from a part of it."""
    text, of_file = tiny.read_text(), training_data.read
    monkeypatch.setattr(training_data, "read", lambda *of, **how: (of_file(*of, **how), tiny.write_text(2 * text))[0])
    assert "has changed while it was read" in run("train", tiny, *QUICK).stderr
    monkeypatch.setattr(training_data, "read", lambda *of, **how: (of_file(*of, **how), os.utime(tiny, (1, 1)))[0])
    run.ok("train", tiny, *QUICK)


def test_a_failed_training_adds_its_error(run, tmp_path, history):
    (tmp_path / "x.svm").write_text("word 1:1\n")
    failed = run("train", tmp_path / "x.svm", "--history", history)
    assert failed.exit_code == 1
    absent = run("train", tmp_path / f"absent{BYTE}.svm", "--history", history)
    assert absent.exit_code == 1
    for entry, name, result in zip(records(history.read_text()), ("x", "absent\\xff"), (failed, absent), strict=True):
        assert entry["file"] == str(tmp_path / f"{name}.svm")
        assert f"error: {entry['error']}\n" == result.stderr


def test_a_line_that_was_cut_short_is_not_continued(run, tiny, history):
    history.write_text('{"time": "2026-0')
    run.ok("train", tiny, *QUICK, "--history", history)
    assert history.read_text().startswith('{"time": "2026-0\n{"time": "')


def append_often(history, letter: str) -> None:
    for _ in range(200):
        append(history, {"time": "now", "text": letter * 3000})


def test_trainings_at_the_same_time_do_not_mix_their_lines(history):
    processes = [PROCESSES.Process(target=append_often, args=(history, letter)) for letter in "ab"]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert len(records(history.read_text())) == 400


def test_a_history_is_written_to_what_has_no_end_or_no_content(run, tiny):
    read_end, write_end = os.pipe()
    run.ok("train", tiny, *QUICK, "-q", "--history", f"/dev/fd/{write_end}")
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        assert len(records(pipe.read())) == 1
    run.ok("train", tiny, *QUICK, "-q", "--history", os.devnull)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="has no device that is full")  # noqa: PTH110
def test_a_history_that_is_full_is_an_error_after_the_model(run, tiny):
    result = run("train", tiny, *QUICK, "--history", "/dev/full")
    assert result.exit_code == 1
    assert "tiny.mpu is saved, but /dev/full: the history could not be written" in result.stderr
    failed = run("train", tiny.with_name("nosuch.svm"), "--history", "/dev/full")
    assert failed.exit_code == 1
    assert "nosuch.svm: cannot be read" in failed.stderr
    assert "/dev/full: the history could not be written" in failed.stderr
    assert tiny.with_suffix(".mpu").is_dir()


def test_a_loop_of_links_is_refused_before_the_training(run, tiny, tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    message(run("train", tiny, *QUICK, "--history", tmp_path / "loop"))
    assert not tiny.with_suffix(".mpu").exists()
