"""Training on instances in parts."""

from dataclasses import replace
from itertools import chain, pairwise

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mpu_cli.core.data.features import Columns, Features
from mpu_cli.core.data.problem import Problem
from mpu_cli.core.data.verified_labels import VerifiedLabels
from mpu_cli.core.frequency.label_frequency import count_annotations
from mpu_cli.core.instances import Instances
from mpu_cli.core.options import Options
from mpu_cli.core.parts import PartRows, seed_of
from mpu_cli.core.train.algorithm import train, train_on_parts
from mpu_cli.core.train.mixing import rounds_of
from mpu_cli.core.validation import EVERYTHING, Selection
from mpu_cli.runtime.parallel import InProcess, reduced
from mpu_cli.runtime.run import Run
from tests.core.simulated import as_features, hide, linear_problem
from tests.slow import slow

# One pass and two folds are what large data get by default.
OPTIONS = Options(epochs=1, folds=2, sample=100, levels=2)
MANY = replace(OPTIONS, sample=1_000)
N, D, Q = 600, 12, 7


@pytest.fixture(scope="module")
def problem():
    X, Y = linear_problem(N, D, Q)
    return as_features(X * (np.abs(X) > 1)), hide(Y, 0.3), Y


def in_parts(matrix, labels, n_parts: int) -> Instances:
    cuts = np.linspace(0, len(labels.indptr) - 1, n_parts + 1).astype(int)
    parts = [
        PartRows(Features.of(matrix[start:stop]), labels[start:stop], number)
        for number, (start, stop) in enumerate(pairwise(cuts))
    ]
    return Instances(InProcess(), parts, [len(part) for part in parts], count_annotations(labels), matrix.shape[1])


def in_parts_of(problem: Problem, n_parts: int) -> Instances:
    """Return the instances of a problem with their verified labels."""
    instances = in_parts(problem.features, problem.labels, n_parts)
    ends = np.cumsum(instances.sizes)
    verified = [
        problem.verified and problem.verified.rows(slice(end - n, end))
        for end, n in zip(ends, instances.sizes, strict=True)
    ]
    parts = [replace(part, verified=of_part) for part, of_part in zip(instances.parts, verified, strict=True)]
    given = {name: getattr(problem, name) for name in ("label_features", "sampled", "second")}
    occurring = Columns.occurring(problem.features)
    return replace(instances, parts=parts, occurring=occurring, **given)


def arrays(model) -> list[np.ndarray]:
    weights = [
        [w] if isinstance(w, np.ndarray) else [w.data, w.indices, w.indptr]
        for w in (level.weights for level in model.levels)
    ]
    of_levels = [*chain.from_iterable(weights), *(level.bias for level in model.levels)]
    return [*of_levels, model.thresholds, *[part for one in model.calibrations for part in (one.predicted, one.actual)]]


def same(one, other) -> bool:
    return [a.tobytes() for a in arrays(one)] == [a.tobytes() for a in arrays(other)]


GIVEN = [
    {},
    {"threshold": "per-label"},
    {"threshold": "macro-f1"},
    {"c": 0.7},
    {"cost": 3.0},
    {"seed": 5},
    {"loss": "squared-hinge", "epochs": 4},
    {"epochs": 3},
    {"folds": 3},
]


@pytest.mark.parametrize(
    ("given", "levels"),
    [
        pytest.param(given, levels, id=f"given{i}-{levels}", marks=[pytest.mark.slow] if given and levels != 2 else [])
        for i, given in enumerate(GIVEN)
        for levels in (1, 2, 3)
    ],
)
def test_one_part_gives_the_model_of_a_single_machine(problem, levels, given):
    matrix, labels, _ = problem
    run = Run(seed=given.get("seed", 0))
    options = replace(OPTIONS, levels=levels, **{name: value for name, value in given.items() if name != "seed"})
    assert_same_training(Problem(matrix, labels), options, run)


def assert_same_training(problem, options, run) -> None:
    """Compare one part with a single machine."""
    model, report = train_on_parts(in_parts_of(problem, 1), options, run)
    expected, expected_report = train(problem, options, run)
    assert same(model, expected)
    assert model.scale == expected.scale
    assert (report.level_f1, report.expected_f1) == (expected_report.level_f1, expected_report.expected_f1)
    assert report.settings == expected_report.settings
    assert_array_equal(report.c, expected_report.c)


@pytest.mark.parametrize("levels", [1, 2])
@pytest.mark.parametrize("epochs", [1, 2])
def test_one_part_learns_from_verified_labels_as_a_single_machine_does(problem, levels, epochs):
    matrix, labels, Y = problem
    rows = np.arange(0, N, 5)
    verified = VerifiedLabels.of(Y.shape, true=_at(rows, Y[rows]), ignored=([1, 2, 2], [0, 0, 3]), complete=rows)
    options = replace(OPTIONS, levels=levels, epochs=epochs)
    for given in ({"sampled": rows}, {}, {"second": rows}):
        assert_same_training(Problem(matrix, labels, verified=verified, **given), options, Run())


def _at(rows, truth):
    instances, columns = truth.nonzero()
    return rows[instances], columns


@pytest.mark.parametrize("prior", [5.0, None, "none"])
def test_one_part_draws_weights_to_features_of_labels_as_a_single_machine_does(problem, prior):
    matrix, labels, _ = problem
    vectors = as_features(np.random.default_rng(0).normal(size=(Q, D)))
    assert_same_training(Problem(matrix, labels, label_features=vectors), replace(OPTIONS, prior=prior), Run())


@pytest.mark.parametrize(
    "given",
    [{"loss": "squared-hinge", "epochs": None}, {"prior": 5.0}, {"sampled": 300}],
    ids=lambda given: next(iter(given)),
)
def test_parts_and_shards_lose_little_whatever_is_asked_for(given):
    X, Y = linear_problem(4_000, D, Q, slope=4.0)
    matrix, labels = as_features(X), hide(Y[:3_000], 0.3)
    of_labels = as_features(np.linalg.lstsq(X[:1000], Y[:1000].astype(float) - 0.5, rcond=None)[0].T)
    problem = Problem(matrix[:3_000], labels, label_features=of_labels if "prior" in given else None)
    options = replace(MANY, **{name: given[name] for name in given.keys() - {"sampled"}})
    if "sampled" in given:
        rows = np.random.default_rng(0).choice(3_000, given["sampled"], replace=False)
        verified = VerifiedLabels.of(labels.shape, true=_at(rows, Y[rows]), complete=rows)
        problem = replace(problem, verified=verified, sampled=rows)

    def f1(of) -> float:
        predicted = of.probabilities(matrix[3_000:]) >= of.thresholds
        return 2 * (predicted & Y[3_000:]).sum() / (predicted.sum() + Y[3_000:].sum())

    expected, _ = train(problem, options)
    for n_parts in (4, 12):
        model, _ = train_on_parts(in_parts_of(problem, n_parts), options, Run())
        assert f1(model) > f1(expected) - 0.015


@pytest.fixture(scope="module")
def on_one_machine():
    """Instances with annotated labels, more of them with true ones, and what a single machine learns from the first."""
    X, Y = linear_problem(4_000, D, Q, slope=4.0)
    matrix, labels = as_features(X), hide(Y[:3_000], 0.3)
    return matrix[:3_000], labels, (matrix[3_000:], Y[3_000:]), train(Problem(matrix[:3_000], labels), MANY)


@pytest.mark.parametrize(("n_parts", "n_shards"), [(5, 1), (5, 2), (4, 4), (12, 6), *slow((40, 20), (600, 3))])
def test_parts_and_shards_lose_little(on_one_machine, n_parts, n_shards):
    matrix, labels, (others, truth), (expected, expected_report) = on_one_machine
    model, report = train_on_parts(in_parts(matrix, labels, n_parts), MANY, Run(), n_shards)

    def f1(of) -> float:
        predicted = of.probabilities(others) >= of.thresholds
        return 2 * (predicted & truth).sum() / (predicted.sum() + truth.sum())

    assert f1(model) > f1(expected) - 0.01
    assert report.expected_f1 > expected_report.expected_f1 - 0.02


def test_the_same_parts_and_shards_give_the_same_model(problem):
    matrix, labels, _ = problem
    one, two, other = (
        train_on_parts(in_parts(matrix, labels, 6), OPTIONS, Run(), n_shards)[0] for n_shards in (3, 3, 2)
    )
    assert same(one, two)
    assert not same(one, other)


class Watched(InProcess):
    """Keeps the names of the units that have run."""

    def __init__(self):
        self.units = []

    def submit(self, function, *arguments):
        self.units.append(function.__name__)
        return super().submit(function, *arguments)


@pytest.mark.parametrize("epochs", [1, 3])
def test_passes_that_are_asked_for_are_rounds(problem, epochs):
    matrix, labels, _ = problem
    executor = Watched()
    instances = replace(in_parts(matrix, labels, 4), executor=executor)
    train_on_parts(instances, replace(OPTIONS, epochs=epochs, cost=3.0, levels=1, c=0.7), Run())
    if epochs == 1:  # the instances that come last are learned from in passing
        assert executor.units.count("learn") == 4 + 4
    else:  # the fold that holds out enough, and all
        assert executor.units.count("learn") == (1 + 1) * 4 * epochs


@pytest.mark.parametrize(("n_parts", "units"), [(1, 1), (4, 4)])
def test_dual_coordinate_descent_makes_all_passes_at_once(problem, n_parts, units):
    matrix, labels, _ = problem
    executor = Watched()
    instances = replace(in_parts(matrix, labels, n_parts), executor=executor)
    options = replace(OPTIONS, loss="squared-hinge", epochs=3, cost=0.1, levels=1, c=0.7)
    train_on_parts(instances, options, Run())
    assert executor.units.count("learn") == 2 * units  # the fold that holds out enough, and all
    assert rounds_of(n_parts, 3, "squared-hinge") == 1


def test_shards_without_instances_have_no_share(problem):
    matrix, labels, _ = problem
    cuts = [0, 300, 300, N, N]  # the second and the fourth part, which are a shard, are empty
    parts = [
        PartRows(Features.of(matrix[start:stop]), labels[start:stop], number)
        for number, (start, stop) in enumerate(pairwise(cuts))
    ]
    sizes = [len(part) for part in parts]
    instances = Instances(InProcess(), parts, sizes, count_annotations(labels), matrix.shape[1])
    _, expected = train_on_parts(replace(instances, parts=parts[::2], sizes=sizes[::2]), OPTIONS, Run(), 1)
    _, report = train_on_parts(instances, OPTIONS, Run(), 2)
    assert report.expected_f1 == pytest.approx(expected.expected_f1, abs=0.05)


@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_folds_part_the_instances_of_a_part(problem, n):
    part = PartRows(Features.of(problem[0][:n]), problem[1][:n], 3)
    rows = [Selection(4, fold, inside=True).rows(n, seed_of(7, part.number)) for fold in range(4)]
    assert np.sort(np.concatenate(rows)).tolist() == list(range(n))
    for fold, held_out in enumerate(rows):
        others = Selection(4, fold).rows(n, seed_of(7, part.number))
        assert np.sort(np.concatenate([held_out, others])).tolist() == list(range(n))
    assert EVERYTHING.rows(n, seed_of(7, part.number)).tolist() == list(range(n))


def test_instances_are_fetched_in_order_from_the_parts_that_have_them(problem):
    matrix, labels, _ = problem
    rows = np.array([0, 3, 149, 150, 151, 599])
    found = in_parts(matrix, labels, 4).fetch(rows)
    assert_array_equal(found.features.as_sparse().toarray(), matrix[rows].toarray())
    assert_array_equal(found.labels.toarray(), labels[rows].toarray())


@pytest.mark.parametrize("n", range(1, 9))
def test_results_are_combined_in_pairs(n):
    words = [str(i) for i in range(n)]
    assert reduced(InProcess(), lambda a, b: a + b, words) == "".join(words)
