from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.metrics import f1_score

from mpu_cli.core import predictions, sgd
from mpu_cli.core.calibration import HeldOut, calibrate
from mpu_cli.core.features import Features
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.frequency.review_frequency import from_review
from mpu_cli.core.kernels import kernel
from mpu_cli.core.loss import LOSSES
from mpu_cli.core.options import Options
from mpu_cli.core.problem import Problem, VerifiedLabels
from mpu_cli.core.sgd import LearningTask, Split, default_epochs, default_step
from mpu_cli.core.stacking import StackedModel, train
from mpu_cli.core.thresholds import expected_f1, pooled_threshold
from mpu_cli.core.validation import deal, train_splits
from mpu_cli.errors import DataError, TooLargeError
from mpu_cli.runtime.run import Run
from tests.core.simulated import as_features, as_labels, hide, linear_problem, read_digits
from tests.core.steps import Steps
from tests.core.verified import complete_review
from tests.golden import refused
from tests.slow import slow, slow_uncompiled


@pytest.fixture
def problem() -> tuple[csr_array, csr_array]:
    X, Y = linear_problem(120, 6, 4)
    return as_features(X), hide(Y, 0.3)


GIVEN = {"c": 0.7, "cost": 3.0}
PU_LOGISTIC, SQUARED_HINGE = "pu-logistic", "squared-hinge"


def quick(**changes) -> Options:
    return Options(**({"folds": 3, "epochs": 2, "features": "linear"} | changes))


def as_bytes(model: StackedModel) -> list[bytes]:
    return [part.tobytes() for level in model.levels for part in (level.weights, level.bias)] + [
        model.thresholds.tobytes(),
        np.float64(model.scale).tobytes(),
    ]


def by_hand(problem, rows: np.ndarray, without: np.ndarray | None = None, **changes) -> np.ndarray:
    """Predict instances by a model of one level of the others, without calibration."""
    matrix, labels = problem
    rest = np.setdiff1d(np.arange(120), rows if without is None else without)
    model, _ = train(Problem(matrix[rest], labels[rest]), quick(levels=1, **GIVEN | changes), calibrated=False)
    return model.probabilities(matrix[rows])


def test_report(problem):
    steps = Steps()
    model, report = train(Problem(*problem), quick(levels=3), Run(step=steps))
    assert report.chosen.c.tolist() == [report.chosen.estimates.estimate.c] * 4
    assert len(report.level_f1) == 3
    assert report.expected_f1 == report.level_f1[-1]
    assert report.chosen.settings.epochs == 2
    assert list(steps.ticks) == [
        "estimating c", "choosing settings",
        "learning level 0",
        "learning level 1", "predicting level 1 out of fold",
        "learning level 2", "predicting level 2 out of fold",
        "choosing thresholds",
    ]  # fmt: skip
    assert [level.weights.shape for level in model.levels] == [(6, 4), (10, 4), (14, 4)]
    for step, announced in steps.announced.items():
        if step != "choosing settings":  # how many settings are tried is not known before
            assert steps.ticks[step] == (announced or 0)


def test_what_is_given_is_neither_estimated_nor_chosen(problem):
    c = np.array([0.3, 0.5, 0.7, 1.0])
    steps = Steps()
    model, report = train(Problem(*problem), quick(levels=1, c=c, cost=7.0, threshold=0.25), Run(step=steps))
    assert report.chosen.c.tolist() == c.tolist()
    assert report.chosen.estimates.estimate is None
    eta0 = default_step(2, Features.of(problem[0]).coherence)
    assert (report.chosen.settings.cost, report.chosen.settings.eta0) == (7.0, eta0)
    assert list(steps.ticks) == ["learning level 0", "predicting level 0 out of fold", "choosing thresholds"]
    assert model.thresholds.tolist() == [0.25] * 4
    assert train(Problem(*problem), quick(cost=7.0, epochs=None))[1].chosen.settings.epochs == default_epochs(120)


@pytest.mark.parametrize("threshold", ["pu-f1", "per-label", "macro-f1", 0.3])
def test_expected_f1_is_that_of_the_thresholds_of_the_model(problem, threshold):
    """By hand: level 0 alone, cross-validated over the same folds."""
    matrix, labels = problem
    model, report = train(Problem(matrix, labels), quick(levels=1, **GIVEN, threshold=threshold))
    probabilities = np.empty(labels.shape, np.float32)
    for rows in deal(120, 3, 0):
        probabilities[rows] = by_hand(problem, rows)
    held_out = HeldOut(model.calibration(probabilities), labels, LabelFrequency(np.full(4, 0.7)))
    assert report.expected_f1 == pytest.approx(expected_f1(held_out, model.thresholds).f1, rel=1e-6)


@pytest.mark.parametrize("given", [{}, {"loss": SQUARED_HINGE, "cost": 0.5, "c": 0.7}], ids=["default", SQUARED_HINGE])
def test_model_is_the_same_bytes_whatever_jobs(given):
    X, Y = linear_problem(90, 5, kernel(Run()).BLOCK_SIZE + 2)
    (one, report), (two, of_two) = (
        train(Problem(as_features(X), hide(Y, 0.2)), quick(**given), Run(jobs=jobs)) for jobs in (1, 2)
    )
    assert (as_bytes(one), report.chosen.c[0]) == (as_bytes(two), of_two.chosen.c[0])
    assert given.get("cost") in (None, report.chosen.settings.cost)
    for name in ("level_f1", "expected_f1"):
        assert getattr(report, name) == getattr(of_two, name)
    assert report.chosen.settings == of_two.chosen.settings


def test_a_single_pass_predicts_what_the_threshold_needs(problem, monkeypatch):
    """The last level, once: no fold is trained for the threshold."""
    matrix, labels = problem
    trained = []
    train_block = sgd.train_block
    monkeypatch.setattr(sgd, "train_block", lambda *args: trained.append(args) or train_block(*args))
    options, steps = quick(**GIVEN, sample=40, epochs=1), Steps()
    train(Problem(matrix, labels), options, Run(step=steps))
    assert list(steps.ticks) == [
        "learning level 0", "predicting level 0 out of fold", "learning level 1", "choosing thresholds"
    ]  # fmt: skip
    assert len(trained) == 1 + 3 + 2  # level 0, its folds, and the two parts of the pass of level 1

    model, report = train(Problem(matrix, labels), replace(options, levels=1))
    last, c = deal(120, 3, 0)[0], LabelFrequency(np.full(4, 0.7))
    task = LearningTask(Features.of(matrix), labels, c, report.chosen.settings)
    _, held_out = train_splits([Split(task, (np.setdiff1d(np.arange(120), last), last), last)])
    threshold, f1 = pooled_threshold(HeldOut(held_out.probabilities, labels[last], c))
    assert model.thresholds == pytest.approx(model.calibration(np.full(4, threshold, np.float32)))
    assert report.expected_f1 == pytest.approx(f1)


def test_a_single_pass_is_not_enough_for(problem):
    """What needs all predictions, or more instances than it can hold out."""
    given = GIVEN | {"levels": 1}
    one_each = ({"threshold": one, "sample": 40} for one in ("per-label", "macro-f1"))
    for options in (*one_each, {"sample": 61}, {"epochs": 2, "sample": 40}):
        train(Problem(*problem), quick(**(given | {"epochs": 1} | options)), Run(step=(steps := Steps())))
        assert "predicting level 0 out of fold" in steps.ticks
    train(Problem(*problem), quick(**given, epochs=1, sample=40), Run(step=(steps := Steps())))
    assert "predicting level 0 out of fold" not in steps.ticks


def test_higher_levels_learn_from_out_of_fold_predictions(problem):
    """Level 1 by hand: level 0's predictions of each fold come from the others, relative to the length of instances."""
    matrix, labels = problem
    model, _ = train(Problem(matrix, labels), quick(**GIVEN, eta0=1.0))
    assert model.scale == pytest.approx(0.3 * np.sqrt(np.square(matrix.toarray()).sum(axis=1).mean()))
    probabilities = np.empty(labels.shape, np.float32)
    for rows in deal(120, 3, 0):
        probabilities[rows] = by_hand(problem, rows, eta0=1.0)
    calibration = calibrate(HeldOut(probabilities, labels, LabelFrequency(np.full(4, 0.7))))
    assert calibration.actual.tolist() == model.calibrations[0].actual.tolist()
    extended = as_features(np.hstack([matrix.toarray(), np.float32(model.scale) * calibration(probabilities)]))
    level_1, _ = train(Problem(extended, labels), quick(levels=1, **GIVEN, eta0=1.0))
    assert_allclose(model.levels[1].weights, level_1.levels[0].weights, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_the_f1_expected_of_level_1_is_that_of_models_without_two_folds(problem):
    """Level 1 by hand, fold by fold: trained on predictions by models that have not seen the fold."""
    matrix, labels = problem
    steps, fewer_folds = Steps(), Steps()
    model, report = train(Problem(matrix, labels), quick(**GIVEN, eta0=1.0, folds=4), Run(step=steps))
    frequency = LabelFrequency(np.full(4, 0.7))
    fold_rows, probabilities = deal(120, 4, 0), np.empty(labels.shape, np.float32)

    for rows in fold_rows:
        rest = np.setdiff1d(np.arange(120), rows)
        below = np.empty(labels.shape, np.float32)
        for other in fold_rows:
            below[other] = by_hand(problem, other, np.union1d(rows, other), eta0=1.0)
        calibration = calibrate(HeldOut(below[rest], labels[rest], frequency))
        extended = np.hstack([matrix.toarray(), np.float32(model.scale) * calibration(below)])
        probabilities[rows] = by_hand((as_features(extended), labels), rows, eta0=1.0)
    assert report.level_f1[1] == pytest.approx(pooled_threshold(HeldOut(probabilities, labels, frequency))[1], abs=1e-3)
    train(Problem(matrix, labels), quick(**GIVEN, eta0=1.0), Run(step=fewer_folds))
    assert "predicting level 0 without two folds" in steps.ticks
    assert "predicting level 0 without two folds" not in fewer_folds.ticks


@slow_uncompiled
@pytest.mark.parametrize(("missing", "features"), [(0.6, "linear"), *slow((0.6, None), (0.0, "linear"), (0.0, None))])
def test_digits_are_learned_as_well_as_is_expected(digits, missing, features):
    """By an outer split; the test file is by other writers."""
    X, Y, test_X, test_Y = read_digits(digits)
    outer = deal(X.shape[0], 3, 0)[0]
    inner = np.setdiff1d(np.arange(X.shape[0]), outer)
    problem = Problem(X[inner], hide(Y[inner], missing))

    def micro_f1(model: StackedModel, X: csr_array, Y: csr_array) -> float:
        return f1_score(Y.toarray(), model.probabilities(X) >= model.thresholds, average="micro")

    model, report = train(problem, Options(features=features))
    assert report.expected_f1 == pytest.approx(micro_f1(model, X[outer], Y[outer]), abs=0.05)
    assert report.chosen.c[0] == pytest.approx(1 - missing, abs=0.05)
    assert report.chosen.estimates.estimate.predictable
    f1 = micro_f1(model, test_X, test_Y)
    assert f1 > (0.87 if missing else 0.9)
    if missing:  # missing labels taken for negatives, the threshold of the paper
        naive, _ = train(problem, Options(c=1.0, cost=1.0, threshold=0.5))
        assert f1 > micro_f1(naive, test_X, test_Y) + 0.2


def test_a_model_that_cannot_fit_in_memory_is_refused_with_its_size(monkeypatch):
    monkeypatch.setattr(predictions, "machine_memory", lambda: 900_000_000)
    features = csr_array((np.ones(500_000, np.float32), (np.zeros(500_000, int), np.arange(500_000))))
    with refused(TooLargeError):
        train(Problem(features, as_labels(np.ones((1, 200)))), quick(levels=1))


def test_features_that_do_not_occur_take_no_room():
    """One feature, of the largest index there is, costs what one feature of index 1 does, and teaches the same."""
    values = np.random.default_rng(0).normal(size=60).astype(np.float32)

    def learn(column: int) -> StackedModel:
        X = csr_array((values, (np.arange(60), np.full(60, column))), shape=(60, column + 1))
        return train(Problem(X, as_labels((values > 0)[:, None])), quick(c=1.0))[0]

    model, wide = learn(0), learn(2**31 - 2)
    assert wide.n_features == 2**31 - 1
    other = csr_array((np.float32([0.5, 0.7]), ([0, 1], [2**31 - 2, 5])), shape=(2, 2**31 - 1))
    assert_array_equal(wide.probabilities(other), model.probabilities(as_features([[0.5], [0]])))


def test_a_sample_that_cannot_fit_in_memory_is_refused_with_the_option_that_helps(monkeypatch, problem):
    monkeypatch.setattr(predictions, "machine_memory", lambda: 5_000)
    with refused(TooLargeError):
        train(Problem(*problem), quick())
    train(Problem(*problem), quick(sample=60))
    train(Problem(*problem), quick(c=0.7, cost=1.0))


# Losses, and the choice between them


@pytest.mark.parametrize("loss", LOSSES)
def test_each_loss_predicts_what_is_true(loss):
    X, Y = linear_problem(600, 6, 4)
    model, report = train(Problem(as_features(X[:400]), hide(Y[:400], 0.4)), quick(loss=loss, c=0.6, epochs=10))
    assert report.chosen.settings.loss == loss
    f1 = f1_score(Y[400:], model.probabilities(as_features(X[400:])) >= model.thresholds, average="micro")
    assert f1 > 0.6  # of labels with much noise: 0.65 where none is missing
    assert report.expected_f1 == pytest.approx(f1, abs=0.08)


def test_auto_takes_the_loss_with_the_larger_estimate(problem):
    def estimate(loss: str | None):
        _, report = train(Problem(*problem), Options(loss=loss, levels=1, c=0.7, folds=4, features="linear"))
        return report.chosen.settings, report.level_f1[0]

    found = dict(estimate(loss)[::-1] for loss in (PU_LOGISTIC, SQUARED_HINGE))
    settings, f1 = estimate(None)
    assert f1 == max(found)
    assert settings == found[f1]


@pytest.mark.parametrize(("lost", "alone"), [((600, 1), True), ((600, 8), False)], ids=["instances", "labels"])
def test_instances_that_nobody_has_looked_at_are_not_learned_from(lost, alone):
    X, Y = linear_problem(600, 10, 8, slope=4.0)
    S = Y & (np.random.default_rng(0).random(lost) < 0.4)
    _, report = train(Problem(as_features(X), as_labels(S)), quick(levels=1, epochs=10))
    assert report.chosen.settings.labelled_only == alone
    estimates = report.chosen.estimates
    assert any("nobody has looked" in warning for warning in estimates.warnings()) == alone
    assert estimates.overall.interval[0] < S.sum() / Y.sum() < estimates.overall.interval[1]


@pytest.mark.parametrize("given", [{"cost": 3.0}, {"eta0": 1.0}, {"sample": 100}], ids=lambda given: next(iter(given)))
def test_auto_is_pu_logistic_where_its_settings_are_given_or_the_data_are_large(problem, given):
    _, report = train(Problem(*problem), Options(levels=1, c=0.7, folds=2, epochs=2, **given))
    assert report.chosen.settings.loss == PU_LOGISTIC


def test_many_labels_are_refused_before_anything_is_learned():
    labels = as_labels(np.ones((3, 501), bool))
    with refused(DataError):
        train(Problem(as_features(np.ones((3, 2))), labels), Options(loss=SQUARED_HINGE, c=1.0))


# Instances that were drawn at random and completely reviewed

QUICK = {"levels": 1, "folds": 3, "epochs": 2, "cost": 10.0}


@pytest.fixture
def reviewable():
    """Features, annotated and true labels; each label has a rate of its own."""
    X, Y = linear_problem(600, 6, 8)
    annotated = Y & (np.random.default_rng(1).random(Y.shape) < np.linspace(0.2, 0.9, 8))
    return as_features(X), as_labels(annotated), Y


def reviewed(X, S, Y, m: int) -> Problem:
    """Let the first instances be drawn and reviewed."""
    return Problem(X, S, verified=complete_review(Y, np.arange(m)), sampled=np.arange(m))


def test_c_that_is_given_is_used(reviewable):
    _, report = train(reviewed(*reviewable, 100), Options(c=0.7, **QUICK))
    assert_array_equal(report.chosen.c, np.full(8, 0.7))
    assert report.chosen.estimates.reviewed is report.chosen.estimates.estimate is None


def test_no_reviewed_instances_change_nothing(reviewable):
    X, S, _ = reviewable
    without, _ = train(Problem(X, S), Options(**QUICK))
    with_none, report = train(Problem(X, S, sampled=np.arange(0)), Options(**QUICK))
    assert as_bytes(without) == as_bytes(with_none)
    assert report.chosen.estimates.reviewed is None


def test_where_all_is_reviewed_there_is_no_automatic_estimate(reviewable):
    _, S, Y = reviewable
    _, report = train(reviewed(*reviewable, 600), Options(**QUICK))
    assert report.chosen.estimates.estimate is None
    assert report.chosen.estimates.reviewed.c == pytest.approx(S.sum() / Y.sum(), abs=0.01)


def test_a_review_goes_before_a_second_file(reviewable):
    X, S, Y = reviewable
    second = np.arange(500, 600)
    verified = complete_review(Y, np.arange(100))
    verified = VerifiedLabels.of(Y.shape, true=verified.cells.nonzero(), complete=[*range(100), *second])
    both = as_labels(np.vstack([S.toarray()[:500], Y[500:]]))
    given = Problem(X, both, verified=verified, sampled=np.arange(100), second=second)
    chosen = train(given, Options(**QUICK))[1].chosen
    assert chosen.estimates.reviewed.instances == 100
    assert_array_equal(chosen.c, from_review(both, verified, np.arange(100), chosen.estimates.estimate.c).rates)


@pytest.mark.parametrize("kind", ["sampled", "second"])
def test_instances_that_were_not_completely_reviewed_are_refused(reviewable, kind):
    X, S, Y = reviewable
    with refused(DataError):
        train(Problem(X, S, verified=complete_review(Y, np.arange(4)), **{kind: np.arange(5)}), Options(**QUICK))
