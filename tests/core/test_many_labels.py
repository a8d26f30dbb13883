"""Training and prediction of more than 500 labels: sparse predictions, sparse weights, a sample of labels."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array

from mpu_cli.bundle.predicting import reaching
from mpu_cli.core import selection, stacking
from mpu_cli.core.features import Features
from mpu_cli.core.kernels import kernel
from mpu_cli.core.labels.problem import Problem
from mpu_cli.core.labels.verified import VerifiedLabels
from mpu_cli.core.options import Options
from mpu_cli.core.predictions import FEW_LABELS, Top
from mpu_cli.core.sample import draw_labels
from mpu_cli.core.stacking import train
from mpu_cli.runtime.run import DEFAULT_RUN, Run

N, D, Q = 1500, 900, 700
QUICK = {"c": 0.7, "cost": 100.0, "eta0": 2.0, "epochs": 3, "folds": 3}


def problem(seed=0, n=N) -> tuple[csr_array, csr_array, csr_array]:
    """Draw instances of two labels each, whose features are those of the labels; 30 % of the labels are missing."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, Q + 1) ** 0.4
    labels = np.array([rng.choice(Q, 2, replace=False, p=share / share.sum()) for _ in range(n)])
    rows = np.repeat(np.arange(n), 2)
    truth = csr_array((np.ones(2 * n, bool), (rows, labels.ravel())), shape=(n, Q))
    of_labels = np.random.default_rng(99).integers(0, D, (Q, 3))
    features = np.concatenate([of_labels[labels].reshape(n, -1), rng.integers(0, D, (n, 2))], axis=1)
    width = features.shape[1]
    values = np.full(n * width, width**-0.5, np.float32)
    matrix = csr_array((values, (np.repeat(np.arange(n), width), features.ravel())), shape=(n, D))
    kept = rng.random(truth.nnz) < 0.7
    kept[np.unique(truth.indices, return_index=True)[1]] = True  # each label at least once
    annotated = truth.copy()
    annotated.data = kept
    annotated.eliminate_zeros()
    return matrix, annotated, truth


def of_annotated() -> tuple[csr_array, csr_array, np.ndarray]:
    """Return features, labels that are annotated at least once, and which these are."""
    matrix, annotated, _ = problem()
    occurring = np.flatnonzero(np.bincount(annotated.indices, minlength=Q))
    return matrix, annotated[:, occurring], occurring


@pytest.fixture(scope="module")
def trained():
    """A model of one level."""
    matrix, labels, _ = of_annotated()
    return train(Problem(matrix, labels), Options(**QUICK, levels=1))[0]


def micro_f1(predicted: csr_array, truth: csr_array) -> float:
    return 2 * predicted.multiply(truth).sum() / (predicted.sum() + truth.sum())


def learn_densely(monkeypatch) -> None:
    for module in (selection, stacking):
        monkeypatch.setattr(module, "FEW_LABELS", Q)


@pytest.mark.slow
def test_predictions_and_weights_are_sparse_and_as_good_as_dense_ones(monkeypatch):
    matrix, labels, columns = of_annotated()
    model, report = train(Problem(matrix, labels), Options(**QUICK))
    test, _, truth = problem(seed=1)
    learn_densely(monkeypatch)
    monkeypatch.setattr(Top, "enough_for", classmethod(lambda *_: None))
    dense, dense_report = train(Problem(matrix, labels), Options(**QUICK))

    assert all(isinstance(level.weights, csr_array) for level in model.levels)
    assert model.levels[1].weights.shape == (D + len(columns), len(columns))
    found = model.predictions(test)
    assert np.diff(found.indptr).max() <= 20 < len(columns)
    sparse_f1 = micro_f1(csr_array(found.toarray() >= model.thresholds), truth[:, columns])
    dense_f1 = micro_f1(csr_array(dense.probabilities(test) >= dense.thresholds), truth[:, columns])
    assert 0.5 < dense_f1 <= sparse_f1 + 0.01
    assert report.level_f1[0] == pytest.approx(dense_report.level_f1[0], abs=0.02)
    assert report.level_f1[1] > dense_report.level_f1[1] - 0.01
    assert report.expected_f1 == pytest.approx(sparse_f1, abs=0.05)


@pytest.mark.slow
def test_without_pruning_and_thinning_level_0_is_the_dense_one(monkeypatch):
    monkeypatch.setattr(kernel(Run()), "THINNED_TO_ONE_IN", 1)
    matrix, annotated, _ = of_annotated()
    monkeypatch.setattr(selection, "CUTS", (0.0,))
    options = Options(**QUICK, levels=1)
    sparse, _ = train(Problem(matrix, annotated), options, calibrated=False)
    learn_densely(monkeypatch)
    dense, _ = train(Problem(matrix, annotated), options, calibrated=False)
    np.testing.assert_array_equal(sparse.levels[0].weights.toarray(), dense.levels[0].weights)
    np.testing.assert_array_equal(sparse.levels[0].bias, dense.levels[0].bias)
    test, _, _ = problem(seed=1)
    found, whole = sparse.predictions(test), dense.levels[0].probabilities(Features.of(test))
    listed = found.toarray() > 0
    np.testing.assert_allclose(found.toarray()[listed], whole[listed], rtol=1e-4)
    assert whole[~listed].max() <= 0.001 * 1.001 or np.diff(found.indptr).max() == 20


def test_reviewed_cells_count(trained):
    """What is known to be false is learned as false: its prediction falls."""
    matrix, labels, columns = of_annotated()
    _, _, truth = problem()
    verified = VerifiedLabels.of(labels.shape, complete=np.arange(400))
    again, _ = train(Problem(matrix, labels, verified=verified), Options(**QUICK, levels=1))
    false = csr_array(truth[:400, columns] > labels[:400])  # true, and said to be false
    before, after = (one.probabilities(matrix[:400])[false.nonzero()].mean() for one in (trained, again))
    assert after < before


@pytest.mark.slow
def test_a_sample_of_labels_has_all_frequencies_and_stands_for_all(monkeypatch):
    monkeypatch.setattr("mpu_cli.core.sample._DRAWN", 100)
    _, annotated, _ = problem(n=4000)
    annotations = np.bincount(annotated.indices, minlength=Q)
    totals = []
    for seed in range(40):
        columns, weights = draw_labels(annotations, seed)
        assert len(columns) == pytest.approx(100, abs=1)
        assert (np.diff(columns) > 0).all()
        assert annotations[columns].min() < 10 < 40 < annotations[columns].max()
        totals.append((weights.sum(), (weights * annotations[columns]).sum()))
    labels, cells = np.mean(totals, axis=0)
    assert labels == pytest.approx(Q, rel=0.03)
    assert cells == pytest.approx(annotations.sum(), rel=0.03)
    assert draw_labels(np.bincount(annotated.indices, minlength=Q)[:FEW_LABELS], 0) is None


@pytest.mark.parametrize("least", [0.0, 0.0005, 0.01, 0.3, 0.9])
def test_all_labels_that_reach_a_threshold_are_found(trained, least):
    matrix, _, _ = problem(seed=2, n=60)
    every = trained.predictions(matrix, most=len(trained.thresholds)).toarray()
    found = reaching(trained, matrix, np.float32([least]), DEFAULT_RUN).toarray()
    np.testing.assert_array_equal(np.where(found >= least, found, 0), np.where(every >= least, every, 0))


def test_predictions_too_small_to_be_kept_are_not_asked_for_again():
    """Of no instance are all labels kept, however many are asked for."""
    asked = []

    def predictions(_features, _run, most: int | None) -> csr_array:
        asked.append(most)
        assert len(asked) < 10
        return csr_array(np.float32([[0.5, 0.4, 0, 0, 0, 0, 0, 0, 0, 0]]))

    model = SimpleNamespace(predictions=predictions)
    assert reaching(model, csr_array((1, 1)), np.float32([0.0]), DEFAULT_RUN).nnz == 2
    assert asked == [None, 8, 10]
