"""Training of many labels on instances in parts."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from mpu_cli.core import negative_sampling
from mpu_cli.core.data.problem import Problem
from mpu_cli.core.data.verified_labels import VerifiedLabels
from mpu_cli.core.options import Options
from mpu_cli.core.train import groups as of_groups
from mpu_cli.core.train.algorithm import train, train_on_parts
from mpu_cli.errors import DataError
from mpu_cli.runtime.run import Run
from tests.core.train.test_distributed import Watched, in_parts, in_parts_of
from tests.core.train.test_many_labels import D, Q, as_arrays, micro_f1, problem
from tests.slow import slow

N = 1500
OPTIONS = Options(c=0.7, cost=100.0, eta0=2.0, epochs=1, folds=2, sample=500, levels=2)


@pytest.fixture(autouse=True)
def few_instances_are_enough(monkeypatch):
    monkeypatch.setattr(negative_sampling, "_FEWEST_INSTANCES", 100)


@pytest.fixture(scope="module")
def drawn():
    matrix, annotated, _ = problem(n=N)
    return matrix, csr_array(annotated[:, np.unique(annotated.indices)])


def same(one, other) -> bool:
    return [a.tobytes() for a in as_arrays(one)] == [a.tobytes() for a in as_arrays(other)]


GIVEN = [{}, {"threshold": "per-label"}, {"sample": 1200}, {"seed": 5}, {"folds": 3}]


@pytest.mark.parametrize(
    ("given", "levels"),
    [
        pytest.param(given, levels, id=f"given{i}-{levels}", marks=[pytest.mark.slow] if given and levels != 2 else [])
        for i, given in enumerate(GIVEN)
        for levels in (1, 2, 3)
    ],
)
def test_one_part_gives_the_model_of_a_single_machine(drawn, levels, given):
    run = Run(seed=given.get("seed", 0))
    options = replace(OPTIONS, levels=levels, **{name: value for name, value in given.items() if name != "seed"})
    model, report = train_on_parts(in_parts(*drawn, 1), options, run)
    expected, expected_report = train(Problem(*drawn), options, run)
    assert same(model, expected)
    assert model.scale == expected.scale
    assert model.top == expected.top
    assert (report.level_f1, report.expected_f1) == (expected_report.level_f1, expected_report.expected_f1)
    assert report.settings == expected_report.settings


def with_label_information(which: str, n: int = N) -> tuple[Problem, Options]:
    """Return a problem with verified labels or features of labels, and options that use them."""
    matrix, annotated, truth = problem(n=n)
    columns = np.unique(annotated.indices)
    annotated, truth = csr_array(annotated[:, columns]), csr_array(truth[:, columns])
    given, options = {}, OPTIONS
    if "verified" in which:
        rows = np.arange(0, n, 4)
        of_rows, labels = truth[rows].nonzero()
        false = [i for i in range(1, n, 4) if not annotated[i, 3]]
        true = rows[of_rows], labels
        given["verified"] = VerifiedLabels.of(
            annotated.shape, true=true, false=(false, [3] * len(false)), ignored=([2, 6], [0, 8]), complete=rows
        )
        given["sampled"] = rows
    if "features" in which:
        of_labels = np.random.default_rng(99).integers(0, D, (Q, 3))[columns]
        ones = np.ones(of_labels.size, np.float32)
        cells = np.repeat(np.arange(len(columns)), 3), of_labels.ravel()
        given["label_features"] = csr_array((ones, cells), shape=(len(columns), D))
        options = replace(options, prior=7.5)
    return Problem(matrix, annotated, **given), options


@pytest.mark.parametrize(
    ("which", "epochs"),
    [("verified, features", 1), *slow(("verified", 3), ("features", 3))],
)
def test_one_part_learns_from_label_information_as_a_single_machine_does(which, epochs):
    data, options = with_label_information(which)
    options = replace(options, epochs=epochs, c=None if which == "verified" else options.c)
    model, report = train_on_parts(in_parts_of(data, 1), options, Run())
    expected, expected_report = train(data, options, Run())
    assert same(model, expected)
    assert (report.level_f1, report.expected_f1) == (expected_report.level_f1, expected_report.expected_f1)
    np.testing.assert_array_equal(report.c, expected_report.c)


@pytest.mark.parametrize("which", ["verified, features", *slow("verified", "features")])
def test_parts_learn_from_label_information_with_little_loss(which):
    data, options = with_label_information(which, 2 * N)
    test, _, truth = problem(seed=1, n=1000)
    truth = csr_array(truth[:, np.unique(problem(n=2 * N)[1].indices)])

    def f1(model) -> float:
        found = model.probabilities(test)
        return max(micro_f1(csr_array(found >= threshold), truth) for threshold in np.linspace(0.1, 0.8, 15))

    model, _ = train_on_parts(in_parts_of(data, 4), options, Run())
    assert f1(model) > f1(train(data, options, Run())[0]) - 0.01 > 0.7


@pytest.fixture(scope="module")
def best_f1():
    """A function that gives the micro-F1 of a model on test data, at the best threshold."""
    test, _, truth = problem(seed=1, n=1000)

    def f1(model) -> float:
        found = model.probabilities(test)
        return max(micro_f1(csr_array(found >= threshold), truth) for threshold in np.linspace(0.1, 0.8, 15))

    return f1


@pytest.fixture(scope="module")
def whole(best_f1):
    """All instances and labels, and the F1 of what a single machine learns from them."""
    matrix, annotated, _ = problem(n=2 * N)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(negative_sampling, "_FEWEST_INSTANCES", 100)
        return matrix, annotated, best_f1(train(Problem(matrix, annotated), OPTIONS)[0])


@pytest.mark.parametrize(
    ("n_parts", "n_shards"),
    [pytest.param(5, 1, marks=pytest.mark.slow), (4, 4), (12, 6), pytest.param(60, 3, marks=pytest.mark.slow)],
)
def test_parts_and_shards_lose_little(whole, best_f1, n_parts, n_shards):
    matrix, annotated, expected = whole
    model, _ = train_on_parts(in_parts(matrix, annotated, n_parts), OPTIONS, Run(), n_shards)
    assert best_f1(model) > expected - 0.01 > 0.7


class Several(Watched):
    threads = 7


@pytest.mark.parametrize("threshold", ["pu-f1", pytest.param("per-label", marks=pytest.mark.slow)])
def test_neither_workers_nor_the_instances_that_they_pick_together_matter(drawn, monkeypatch, threshold):
    options = replace(OPTIONS, threshold=threshold)
    one, few, many = Watched(), Several(), Watched()
    expected, _ = train_on_parts(replace(in_parts(*drawn, 3), executor=one), options, Run())
    model, _ = train_on_parts(replace(in_parts(*drawn, 3), executor=few), options, Run())
    monkeypatch.setattr(of_groups, "_TOGETHER", 1)
    single, _ = train_on_parts(replace(in_parts(*drawn, 3), executor=many), options, Run())
    assert same(model, expected)
    assert same(single, expected)
    groups = 2 * 10  # of the 640 labels that are not the most annotated, at two levels
    learned = [sum(name.startswith("learn_groups") for name in executor.units) for executor in (one, few, many)]
    assert learned[0] < learned[1] == learned[2] == groups


def test_the_same_parts_and_shards_give_the_same_model(drawn):
    one, two, other = (train_on_parts(in_parts(*drawn, 6), OPTIONS, Run(), n_shards)[0] for n_shards in (3, 3, 2))
    assert same(one, two)
    assert not same(one, other)


def test_passes_that_are_asked_for_are_rounds_of_the_most_annotated_labels(drawn):
    executor = Watched()
    options = replace(OPTIONS, epochs=3, levels=1)
    train_on_parts(replace(in_parts(*drawn, 4), executor=executor), options, Run())
    # Of the model of groups, of the leading folds, and of all.
    assert executor.units.count("learn") == (1 + 1 + 1) * 4 * 3


def test_all_is_chosen_on_the_sample(drawn):
    options = Options(epochs=1, folds=2, sample=1000, levels=1)
    model, report = train_on_parts(in_parts(*drawn, 3), options, Run())
    assert 0.3 < report.estimate.c <= 1
    assert {"estimate c", "choose C", "choose weights to drop", "shortlist", "level 0"} <= set(report.seconds)
    assert 0 < model.levels[0].weights.nnz < np.prod(model.levels[0].weights.shape) / 2


def test_the_squared_hinge_is_refused(drawn):
    with pytest.raises(DataError, match="squared-hinge"):
        train_on_parts(in_parts(*drawn, 2), replace(OPTIONS, loss="squared-hinge"), Run())
