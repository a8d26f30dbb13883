"""Training and prediction of more than 500 labels: sparse predictions and weights, samples of labels and instances."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from mpu_cli.bundle.predicting import reaching
from mpu_cli.core import many_labels, predictions, selection, stacking
from mpu_cli.core.features import Features
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.kernels import kernel
from mpu_cli.core.many_labels import sample_negatives
from mpu_cli.core.options import Options
from mpu_cli.core.predictions import FEW_LABELS, Top
from mpu_cli.core.problem import Problem, VerifiedLabels
from mpu_cli.core.sample import draw_labels
from mpu_cli.core.sgd import LearningTask, Settings
from mpu_cli.core.side_information import NegativeSample, Prior
from mpu_cli.core.stacking import train
from mpu_cli.errors import TooLargeError
from mpu_cli.experiment.methods import elkan08
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from tests.core.simulated import trained
from tests.core.steps import Steps
from tests.golden import refused

D, Q = 900, 700
QUICK = {"c": 0.7, "cost": 100.0, "eta0": 2.0, "epochs": 3, "folds": 3}


def problem(seed=0, n=1500) -> tuple[csr_array, csr_array, csr_array]:
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
def model():
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
    assert_array_equal(sparse.levels[0].weights.toarray(), dense.levels[0].weights)
    assert_array_equal(sparse.levels[0].bias, dense.levels[0].bias)
    test, _, _ = problem(seed=1)
    found, whole = sparse.predictions(test), dense.levels[0].probabilities(Features.of(test))
    listed = found.toarray() > 0
    assert_allclose(found.toarray()[listed], whole[listed], rtol=1e-4)
    assert whole[~listed].max() <= 0.001 * 1.001 or np.diff(found.indptr).max() == 20


def test_reviewed_cells_count(model):
    """What is known to be false is learned as false: its prediction falls."""
    matrix, labels, columns = of_annotated()
    _, _, truth = problem()
    verified = VerifiedLabels.of(labels.shape, complete=np.arange(400))
    again, _ = train(Problem(matrix, labels, verified=verified), Options(**QUICK, levels=1))
    false = csr_array(truth[:400, columns] > labels[:400])  # true, and said to be false
    before, after = (one.probabilities(matrix[:400])[false.nonzero()].mean() for one in (model, again))
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
    assert (labels, cells) == (pytest.approx(Q, rel=0.03), pytest.approx(annotations.sum(), rel=0.03))
    assert draw_labels(np.bincount(annotated.indices, minlength=Q)[:FEW_LABELS], 0) is None


@pytest.mark.parametrize("least", [0.0, 0.0005, 0.01, 0.3, 0.9])
def test_all_labels_that_reach_a_threshold_are_found(model, least):
    matrix, _, _ = problem(seed=2, n=60)
    every = model.predictions(matrix, most=len(model.thresholds)).toarray()
    found = reaching(model, matrix, np.float32([least]), DEFAULT_RUN).toarray()
    assert_array_equal(np.where(found >= least, found, 0), np.where(every >= least, every, 0))


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


# Labels that are learned from some of the instances

N = 3000
SETTINGS = Settings(cost=100.0, eta0=2.0, epochs=2)


@pytest.fixture(scope="module")
def drawn():
    matrix, annotated, _ = problem(n=N)
    return Features.of(matrix), annotated, LabelFrequency.of(0.7, annotated.shape)


def test_weights_are_the_same_where_all_instances_are_on_the_list(drawn):
    features, labels, frequency = drawn
    group_of = np.random.default_rng(3).permutation(np.arange(Q) // 50).astype(np.int32)
    all_instances = NegativeSample(group_of, csr_array(np.ones((14, N), bool)))
    expected, found = (
        trained(features, labels, np.arange(0, N, 3), frequency, SETTINGS, negatives=negatives, prune=0.05)
        for negatives in (None, all_instances)
    )
    assert_array_equal(found.bias, expected.bias)
    assert_allclose(found.weights.toarray(), expected.weights.toarray(), atol=1e-6)


def test_groups_learn_from_what_is_annotated_and_what_is_known(drawn):
    features, labels, _ = drawn
    rng = np.random.default_rng(4)
    false = rng.integers(0, N, 200), rng.integers(0, Q, 200)
    keys = np.unique(false[0] * Q + false[1])
    verified = VerifiedLabels.of(labels.shape, false=(keys // Q, keys % Q))
    frequency = LabelFrequency.of(0.7, labels.shape, verified)
    before = labels.toarray()
    negatives = sample_negatives(LearningTask(features, labels, frequency, SETTINGS, prune=0.1))
    assert_array_equal(labels.toarray(), before)
    learned = negatives.instances.toarray()[negatives.group_of].T  # n x q
    assert learned[frequency.positives(labels).toarray()].all()
    assert learned[keys // Q, keys % Q].all()
    sizes = np.bincount(negatives.group_of)
    assert sizes[0] == sizes.max() == 64
    most_annotated = np.argsort(-np.bincount(labels.indices, minlength=Q))[:20]
    assert (negatives.group_of[most_annotated] == 0).all()
    assert learned[:, most_annotated].all()
    assert 0.2 < learned.mean() < 0.9
    assert_array_equal(np.sort(np.concatenate(negatives.groups())), np.arange(Q))


def test_predicted_instances_widen_it():
    negatives = NegativeSample(np.int32([0, 1, 1]), csr_array(np.array([[True, False, False], [False, True, False]])))
    predictions = csr_array(np.float32([[0, 0, 0.4], [0.2, 0, 0.001], [0, 0.001, 0]]))
    assert negatives.widened(predictions).instances.toarray().tolist() == [[True, True, False], [True, True, False]]


@pytest.mark.slow
def test_it_is_about_as_good_as_all_instances(monkeypatch):
    matrix, annotated, _ = problem(n=2000)
    test, _, truth = problem(seed=1, n=1000)
    f1 = []
    for fewest in (2001, 100):
        monkeypatch.setattr(many_labels, "FEWEST_INSTANCES", fewest)
        model, _ = train(Problem(matrix, annotated), Options(**QUICK, levels=1), Run(step=(steps := Steps())))
        assert ("finding instances for each label" in steps.ticks) == (fewest == 100)
        f1.append(micro_f1(csr_array(model.probabilities(test) >= model.thresholds), truth))
    assert f1[0] > 0.5
    assert f1[1] > f1[0] - 0.02


def test_labels_that_are_never_annotated_learn_from_instances_with_their_features(drawn):
    features, labels, frequency = drawn
    found = labels.tocsc()
    never = np.flatnonzero(np.diff(found.indptr) > 2)[-40:]  # rare ones, but known by instances
    hidden = csr_array(labels.multiply(~np.isin(np.arange(Q), never)[None]))
    hidden.eliminate_zeros()
    of_labels = csr_array(found.T.astype(np.float32) @ features.as_sparse())
    theirs = labels.toarray()[:, never]
    shares = []
    for prior in (None, Prior.of(features, of_labels)):
        negatives = sample_negatives(LearningTask(features, hidden, frequency, SETTINGS, prior=prior, prune=0.1))
        shares.append(negatives.instances.toarray()[negatives.group_of].T[:, never][theirs].mean())
    assert shares[1] > 0.99
    assert shares[1] > shares[0]


# What would not fit in memory is refused before the work, with its size


def full(D: int) -> tuple[csr_array, csr_array]:
    """Return two instances: one has all features, both have all labels, of which there are 600."""
    features = csr_array((np.ones(D, np.float32), (np.zeros(D, int), np.arange(D))), shape=(2, D))
    return features, csr_array(np.ones((2, 600), bool))


@pytest.mark.parametrize(("levels", "features", "size"), [(1, "100,000", "51,200,000"), (2, "100,600", "51,507,200")])
def test_a_block_of_many_labels_is_refused_with_its_size(monkeypatch, levels, features, size):
    monkeypatch.setattr(predictions, "machine_memory", lambda: 51_000_000)
    with pytest.raises(TooLargeError, match=rf"{features} features x 64 labels, .* take {size} bytes .*drop rare feat"):
        train(Problem(*full(100_000)), Options(**QUICK, levels=levels))


def test_many_labels_are_not_refused_for_what_all_of_their_weights_would_take(monkeypatch):
    monkeypatch.setattr(predictions, "machine_memory", lambda: 4 * 600 * 1000 - 1)
    model, _ = train(Problem(*full(1000)), Options(**QUICK | {"folds": 2}, levels=1))
    assert model.levels[0].weights.shape == (1000, 600)


def test_elkan08_needs_all_predictions_of_many_labels_too(monkeypatch):
    monkeypatch.setattr(predictions, "machine_memory", lambda: 10_000)
    with refused(TooLargeError):
        elkan08.Method(cost=1.0, epochs=1).fit(*full(1))
