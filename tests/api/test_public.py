"""The public face: what `import mpu_cli` gives, and the functions for people with arrays."""

import re
import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

import mpu_cli
from mpu_cli import (
    IncompleteLabelClassifier,
    MPUClassifier,
    choose_thresholds,
    estimate_c,
    out_of_fold,
    unannotated_posterior,
)
from tests.conftest import ROOT
from tests.core.simulated import linear_problem
from tests.golden import refused
from tests.slow import slow, slow_uncompiled

HEAVY = {"click", "jinja2", "joblib", "numba", "numpy", "scipy", "sklearn"}


@pytest.mark.slow  # processes of their own
def test_the_import_brings_nothing_along_commands_no_scikit_learn_and_the_estimator_no_compiler():
    code = """
import sys, mpu_cli
print(*sys.modules)
from mpu_cli.cli.actions import predict, suggest, train
print(*sys.modules)
mpu_cli.MPUClassifier()
print(*sys.modules)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    loaded, of_commands, of_estimator = (set(line.split()) for line in said.splitlines())
    assert not HEAVY & {name.partition(".")[0] for name in loaded}
    assert {name for name in loaded if name.startswith("mpu_cli")} == {"mpu_cli"}
    assert not {"sklearn", "scipy.stats", "scipy.optimize"} & of_commands
    assert "numba" not in of_estimator


def test_all_names_are_there_and_documented():
    assert dir(mpu_cli) == sorted(mpu_cli.__all__)
    namespace: dict = {}
    exec("from mpu_cli import *", namespace)
    assert set(mpu_cli.__all__) <= set(namespace)
    for name in set(mpu_cli.__all__) - {"__version__"}:
        assert getattr(mpu_cli, name).__doc__
    with refused(AttributeError):
        mpu_cli.MPUClasifier  # noqa: B018


@pytest.mark.parametrize("name", ["MPUClassifier", "Vectorizer"])
def test_parameters_are_described_without_files_options_and_placeholders_of_commands(name):
    described = getattr(mpu_cli, name).__doc__.partition("Parameters")[2].partition("Attributes")[0]
    assert not re.search(r"\bfile\b|--[a-z]|\bN\b|\w-\n", described)


@slow_uncompiled
def test_the_example_at_a_glance_is_true(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "guide" / "python.md").read_text()
    block = next(block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if ">>>" not in block)
    rng = np.random.default_rng(0)
    truth = rng.random((500, 2)) < 0.4
    X = truth + rng.normal(scale=0.1, size=truth.shape)
    data = {"X": X, "S": truth & (rng.random(truth.shape) < 0.6), "X_new": X[:3]}
    exec(block, data)
    assert (tmp_path / "news.mpu" / "manifest.json").exists()


def test_a_keyword_that_nobody_knows_is_refused(halved):
    X, _, S = halved
    with refused(TypeError):
        estimate_c(X, S, review=S)
    with refused(TypeError):
        choose_thresholds(S.astype(float), S, 0.5, sampled=S[:, 0])


def test_complete_instances_tell_nothing_of_c(halved):
    X, truth, S = halved
    complete = np.arange(len(X)) < 200
    labels = np.where(complete[:, None], truth, S)
    assert estimate_c(X, labels, fully_labelled=complete, features="linear").c == pytest.approx(0.5, abs=0.06)
    assert estimate_c(X, labels, features="linear").c > 0.6


def test_the_posterior_follows_bayes_rule():
    p, c = np.array([0.0, 0.3, 0.9, 1.0]), np.array([[0.0], [0.4], [0.9]])
    expected = (1 - c) * p / (1 - c * p)
    np.testing.assert_allclose(unannotated_posterior(p, c), expected, rtol=1e-12)
    assert unannotated_posterior(p, 1.0).tolist() == [0, 0, 0, 0]
    assert unannotated_posterior(np.float32([0.3]), 0.4).dtype == np.float32
    near_one = np.nextafter(np.float32(1), np.float32(0))
    exact = 0.5 * float(near_one) / (1 - 0.5 * float(near_one))
    assert unannotated_posterior([near_one], 0.5)[0] == pytest.approx(exact)


@slow_uncompiled
@pytest.mark.parametrize("container", [np.asarray, *slow(csr_array)])
def test_what_is_missing_is_found_out_of_fold(halved, container):
    X, truth, S = halved
    found = out_of_fold(container(X), container(np.insert(S, 1, 0, axis=1)), MPUClassifier(features="linear", C=10.0))
    assert found.probabilities.shape == found.posteriors.shape == (600, 4)
    assert not found.posteriors[:, 1].any()
    assert np.isnan(found.c).tolist() == [False, True, False, False]
    posteriors = np.where(S, 0, np.delete(found.posteriors, 1, axis=1))
    missing = truth & (S == 0)
    assert missing.ravel()[np.argsort(-posteriors, axis=None)[: missing.sum()]].mean() > 0.9
    c = found.c[0]
    assert posteriors.sum() == pytest.approx(S.sum() * (1 - c) / c, rel=0.05)
    right = MPUClassifier(c=S.sum() / truth.sum(), features="linear", C=10.0)
    posteriors = np.where(S, 0, out_of_fold(container(X), container(S), right).posteriors)
    assert posteriors.sum() == pytest.approx(missing.sum(), rel=0.1)


@pytest.mark.filterwarnings("ignore::mpu_cli.MpuWarning")  # of the instances that nobody has looked at
def test_labels_of_instances_that_nobody_has_looked_at_are_the_most_probable_missing_ones():
    X, Y = linear_problem(600, 10, 8, slope=1.0)
    S = Y & (np.arange(600) % 2 == 0)[:, None]
    posteriors = np.where(S, 0, out_of_fold(X, S, MPUClassifier(features="linear", levels=1)).posteriors)
    listed = IncompleteLabelClassifier(LogisticRegression()).fit(X, S).missing_labels(top=100)
    for rows in (np.argsort(-posteriors, axis=None)[:100] // 8, listed.rows):
        assert (rows % 2).mean() > 0.9


@slow_uncompiled
def test_thresholds_are_those_of_a_training(halved):
    X, _, S = halved
    estimator = MPUClassifier(random_state=1, features="linear", C=10.0, levels=1)
    found = out_of_fold(X, S, estimator)
    for criterion in ("pu-f1", "per-label"):
        model = estimator.set_params(threshold=criterion).fit(X, S)
        chosen = choose_thresholds(found.probabilities, S, found.c, criterion)
        np.testing.assert_allclose(chosen.thresholds, model.thresholds_, rtol=1e-3)  # two grids of 0.05 %
        P = found.probabilities
        np.testing.assert_array_equal(chosen.thresholds <= P, model.thresholds_ <= P)
        assert chosen.expected_f1 == pytest.approx(model.expected_f1_)


def test_a_label_without_annotations_has_no_threshold():
    chosen = choose_thresholds([[0.9, 0.2], [0.1, 0.3]], [[1, 0], [0, 0]], c=[0.5, 0.4])
    assert chosen.thresholds[1] == np.inf
    assert 0.1 < chosen.thresholds[0] <= 0.9


def test_no_more_than_1_is_expected_where_c_is_too_small():
    assert choose_thresholds([[0.9], [0.8], [0.1], [0.1]], [[1], [1], [0], [0]], c=0.5).expected_f1 == 1
