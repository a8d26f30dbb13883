"""`mpu train --warm-start`: a model is matched with the data by label and feature, and refused if it does not match."""

import json
import shutil
from dataclasses import replace

import pytest

from mpu_cli import bundle
from tests.cli.training import message
from tests.endurance.commands import model_files

# Labels 1, 2, 3 and features 1, 2, 3; and the same a while later: label 1 and feature 2 have gone, 7 and 9 are new.
BEFORE = "1 1:1\n2 2:1\n1,2 1:1 2:1\n3 3:0.5\n 1:1 3:2\n"
AFTER = "2 1:1\n3 3:0.5\n7 9:1\n2,7 1:1 9:1\n 1:1 3:2\n"
GIVEN = ("--c", "0.5", "--epochs", "2")


@pytest.fixture
def data(tmp_path):
    for name, text in (("before", BEFORE), ("after", AFTER)):
        (tmp_path / f"{name}.svm").write_text(text)
    return tmp_path


@pytest.fixture
def old(run, data):
    assert run("train", data / "before.svm", *GIVEN, "--cost", 3).exit_code == 0
    return data / "before.mpu"


def test_labels_and_features_may_have_come_and_gone(run, data, old):
    result = run("train", data / "after.svm", *GIVEN, "--warm-start", old, "--log-format", "json", "--json")
    assert result.exit_code == 0
    (counts,) = [line for line in map(json.loads, result.stderr.splitlines()) if "labels_new" in line]
    assert {name: counts[name] for name in counts if "_" in name} == {
        "labels_shared": 2, "labels_new": 1, "labels_vanished": 1,
        "features_shared": 2, "features_new": 1, "features_vanished": 1,
    }  # fmt: skip
    report = json.loads(result.stdout)
    assert report["cost"] == 3
    assert report["epochs"] == 2
    model = bundle.load(data / "after.mpu")
    assert model.label_ids.tolist() == [2, 3, 7]
    assert model.predictor.columns.indices.tolist() == [1, 3, 9]  # the feature that vanished has no weights
    assert model.predictor.levels[0].weights.shape == (3, 3)


def test_onto_itself_and_the_same_bytes_twice(run, data, old):
    def retrain(jobs) -> dict[str, bytes]:
        shutil.rmtree(data / "copy.mpu", ignore_errors=True)
        shutil.copytree(old, data / "copy.mpu")
        arguments = (*GIVEN, "-o", data / "copy.mpu", "--warm-start", data / "copy.mpu", "-j", jobs)
        assert run("train", data / "after.svm", *arguments).exit_code == 0
        return model_files(data / "copy.mpu")

    assert retrain(1) == retrain(2)


def test_models_that_do_not_match_are_refused(run, data, old):
    def refusal(model, *more) -> str:
        return message(run("train", data / "after.svm", *GIVEN, "-o", data / "new.mpu", "--warm-start", model, *more))

    assert "there is no such model" in refusal(data / "none.mpu")
    assert "has --levels 2, and this training 1" in refusal(old, "--levels", 1)
    (data / "other.svm").write_text("5 1:1\n6 2:1\n")
    (data / "far.svm").write_text("1 11:1\n2 12:1\n")
    for name, problem in (("other", "no label in common"), ("far", "no feature in common")):
        assert run("train", data / f"{name}.svm", *GIVEN, "--cost", 3).exit_code == 0
        assert problem in refusal(data / f"{name}.mpu")
    assert run("train", data / "before.svm", "-o", data / "br.mpu", "--method", "br", "--cost", 3).exit_code == 0
    assert "is a model of --method br" in refusal(data / "br.mpu")
    rbf = ("--method", "m3l-rbf", "--cost", 3, "--gamma", 1)
    assert run("train", data / "before.svm", "-o", data / "rbf.mpu", *rbf).exit_code == 0
    bundle.save(replace(bundle.load(data / "rbf.mpu"), method="mpu"), data / "odd.mpu")
    assert "has no weights of features of the data" in refusal(data / "odd.mpu")
    model = bundle.load(old)
    for cost in (None, "much", -1, 0, [1]):
        bundle.save(replace(model, options=model.options | {"cost": cost}), data / "odd.mpu")
        assert "C and the step size" in refusal(data / "odd.mpu")
    next(old.glob("*.npz")).write_bytes(b"damaged")
    assert "is damaged" in refusal(old)
    assert not (data / "new.mpu").exists()


def test_other_methods_have_no_warm_start(run, data, old):
    result = run("train", data / "after.svm", "--method", "br", "--warm-start", old)
    assert result.exit_code == 2
    assert "--warm-start is an option of mpu" in result.stderr
