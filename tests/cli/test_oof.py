"""`mpu train --oof`."""

import pytest

from tests.cli.training import QUICK


def test_out_of_fold_predictions_are_evaluated_like_others(run, digits, tmp_path):
    train, _ = digits
    options = ("--cost", 30, "--epochs", 5, "--levels", 1, "-o", tmp_path / "d.mpu", "--c", 1)
    report = run.json("train", train, *options, "--oof", tmp_path / "oof.txt")
    assert len((tmp_path / "oof.txt").read_text().splitlines()) == report["instances"]
    found = run.json("evaluate", train, tmp_path / "oof.txt")
    assert found["micro_f1"] == pytest.approx(report["expected_micro_f1"], abs=0.005)
    assert found["precision_at_1"] > 0.8
    seen = run.json("evaluate", train, tmp_path / "d.mpu")
    assert seen["micro_f1"] > found["micro_f1"]


def test_out_of_fold_predictions_are_of_all_instances_however_few_are_drawn(run, tmp_path):
    (tmp_path / "x.svm").write_text("1 1:1\n2 2:1\n" * 300)
    arguments = ("train", tmp_path / "x.svm", "--c", 0.5, "--cost", 30, "--epochs", 1, "--sample", 50)
    run.ok(*arguments, "--oof", tmp_path / "oof.txt", "-q")
    lines = (tmp_path / "oof.txt").read_text().splitlines()
    assert len(lines) == 600
    assert all(":" in line for line in lines)


def test_out_of_fold_predictions_of_a_second_file_are_left_out(run, tiny, tmp_path):
    (tmp_path / "more.svm").write_text("1 1:1\n2 2:1\n" * 5)
    run.ok("train", tiny, *QUICK, "--fully-labelled", tmp_path / "more.svm", "--oof", tmp_path / "o")
    assert len((tmp_path / "o").read_text().splitlines()) == len(tiny.read_text().splitlines())
