"""``mpu predict --rank-by psp``: scores that order labels by probability / propensity."""

import json
import shutil

import numpy as np
import pytest
from click.testing import CliRunner

from mpu_cli.cli import mpu
from mpu_cli.evaluation.propensities import jain_propensities
from tests.core.simulated import rare_labels
from tests.svm import lines


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Labels of which each is rarer than the one before, and a model of them."""
    path = tmp_path_factory.mktemp("ranked")
    rows = lines(*rare_labels(1500, 6, last=7))
    (path / "train.svm").write_text("".join(rows[:1000]))
    (path / "test.svm").write_text("".join(rows[1000:]))
    arguments = ["train", str(path / "train.svm"), "--c", "1", "--cost", "3", "--levels", "1", "-q", "-o", f"{path}/m"]
    assert CliRunner().invoke(mpu, arguments).exit_code == 0
    return path


def scores(path) -> list[dict[int, float]]:
    lines = [line.partition("#")[0].split() for line in path.read_text().splitlines()]
    return [{int(k): float(p) for k, _, p in (pair.partition(":") for pair in line)} for line in lines]


def psp(run, folder, predictions) -> list[float]:
    options = ("--training", folder / "train.svm", "--k", "1,2,3", "--json")
    report = json.loads(run("evaluate", folder / "test.svm", predictions, *options).stdout)
    return [report[f"psp_at_{k}"] for k in (1, 2, 3)]


def test_scores_are_probabilities_by_propensities(run, folder, tmp_path):
    for by in "probability", "psp":
        run("predict", folder / "m", folder / "test.svm", "--format", "scores", "--rank-by", by, "-o", tmp_path / by)
    plain, weighted = scores(tmp_path / "probability"), scores(tmp_path / "psp")
    text = (folder / "train.svm").read_text().splitlines()
    counts = [sum(str(k) in line.split(" ")[0].split(",") for line in text) for k in range(1, 7)]
    r = jain_propensities(counts, 1000)
    for one, other in zip(plain, weighted, strict=True):
        assert other == pytest.approx({k: p * r.min() / r[k - 1] for k, p in one.items()}, rel=1e-5)
        assert list(other.values()) == sorted(other.values(), reverse=True)


def test_psp_gains_by_it(run, folder, tmp_path):
    for by in "probability", "psp":
        run("predict", folder / "m", folder / "test.svm", "--format", "scores", "--rank-by", by, "-o", tmp_path / by)
    plain, weighted = (np.array(psp(run, folder, tmp_path / by)) for by in ("probability", "psp"))
    assert weighted[0] > plain[0] + 0.01
    assert (weighted > plain - 0.005).all()


def test_the_label_sets_are_those_of_the_model(run, folder, tmp_path):
    run("predict", folder / "m", folder / "test.svm", "--format", "scores", "--rank-by", "psp", "-o", tmp_path / "p")
    of_file, of_model = (
        json.loads(run("evaluate", folder / "test.svm", path, "--metrics", "micro_f1", "--json").stdout)["micro_f1"]
        for path in (tmp_path / "p", folder / "m")
    )
    assert of_file == pytest.approx(of_model, abs=1e-3)


def test_the_first_k_are_those_of_all(run, folder, tmp_path):
    for name, more in {"all": (), "two": ("--top-k", 2)}.items():
        options = ("--format", "scores", "--rank-by", "psp", "-o", tmp_path / name)
        run("predict", folder / "m", folder / "test.svm", *options, *more)
    assert scores(tmp_path / "two") == [dict(list(row.items())[:2]) for row in scores(tmp_path / "all")]


@pytest.mark.parametrize("options", [(), ("--format", "tsv"), ("--format", "scores", "--threshold", 0.5)])
def test_no_probabilities_no_threshold(run, folder, options):
    result = run("predict", folder / "m", folder / "test.svm", "--rank-by", "psp", *options)
    assert result.exit_code == 2
    assert "--rank-by psp needs --format scores, without --threshold" in result.stderr


def test_a_model_without_a_record_of_its_training_is_refused(run, folder, tmp_path):
    copy = shutil.copytree(folder / "m", tmp_path / "m")
    for record in copy.glob("training-*.json"):
        record.unlink()
    result = run("predict", copy, folder / "test.svm", "--format", "scores", "--rank-by", "psp")
    assert result.exit_code == 1
    assert "no record of how often labels were annotated" in result.stderr
