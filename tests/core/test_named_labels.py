"""Labels of a thesaurus that are never annotated, whose names are all that is known of them, or a few times."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.special import expit

from mpu_cli.core.calibration import Calibration, StratifiedCalibration
from mpu_cli.core.features import Features
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.linear_model import LinearModel
from mpu_cli.core.options import Options
from mpu_cli.core.predictions import FEW_LABELS, Top, count_positives, strata_of
from mpu_cli.core.problem import Problem, VerifiedLabels
from mpu_cli.core.sgd import UNLEARNED_PRIOR, LearningTask, Settings, Split
from mpu_cli.core.side_information import Prior, times_named, unannotated_bias
from mpu_cli.core.stacking import StackedModel, train
from mpu_cli.core.validation import deal, train_splits
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from tests.core.simulated import as_features, as_labels, trained

# Words are names; that of the last label is in no instance. Labels from USED on are never annotated.
N, WORDS, USED = 400, 700, 300
RATES, SETTINGS, PRUNE = LabelFrequency(np.full(WORDS, 0.7)), Settings(30.0, 4.0, 3, prior=20.0), 0.01
GIVEN = Options(c=0.7, cost=30.0, eta0=4.0, epochs=3, folds=3, prior=20.0)


def prior_of(problem: Problem, sparing: bool = True) -> tuple[Features, Prior]:
    features = Features.of(problem.features)
    return features, Prior.of(features, problem.label_features, problem.labels if sparing else None)


def learned(problem: Problem, settings: Settings = SETTINGS) -> tuple[LinearModel, float]:
    """Learn labels from all instances; return also the length of a name's weights by the prior of 1."""
    features, prior = prior_of(problem)
    model = trained(features, problem.labels, np.arange(N), RATES, settings, prior=prior, prune=PRUNE)
    return model, 1 / np.sqrt(features.mean_squared_norm())


@pytest.fixture(scope="module")
def problem() -> Problem:
    """Draw instances of words, rare and less rare, that mean a label where it is in use, mostly."""
    rng = np.random.default_rng(0)
    words = rng.random((N, WORDS)) < np.append(0.002 + 0.02 * rng.random(WORDS - 1) ** 4, 0)
    annotated = words & (rng.random(words.shape) < 0.6) & (np.arange(WORDS) < USED)
    return Problem(as_features(words), as_labels(annotated), label_features=as_features(np.eye(WORDS)))


@pytest.fixture(scope="module")
def unused(problem):
    return np.flatnonzero(count_positives(problem.labels) == 0)


def test_annotated_labels_learn_what_they_learn_alone(problem, unused):
    """Neither labels without annotations nor the features of their names change a weight."""
    model, _ = learned(problem)
    used = np.setdiff1d(np.arange(WORDS), unused)
    alone = replace(problem, labels=problem.labels[:, used], label_features=problem.label_features[used])
    features, prior = prior_of(alone, sparing=False)
    expected = trained(features, alone.labels, np.arange(N), RATES.block(used), SETTINGS, prior=prior, prune=PRUNE)
    assert_array_equal(csr_array(model.weights)[:, used].toarray(), csr_array(expected.weights).toarray())
    assert_array_equal(model.bias[used], expected.bias)


@pytest.mark.parametrize(("prior", "length"), [(20.0, UNLEARNED_PRIOR), (60.0, 60.0)])
def test_the_weights_of_unannotated_labels_are_their_names(problem, unused, prior, length):
    model, one = learned(problem, settings=replace(SETTINGS, prior=prior))
    assert_allclose(csr_array(model.weights)[:, unused].toarray(), length * one * np.eye(WORDS)[:, unused], rtol=1e-6)
    assert unused[-1] == WORDS - 1  # also of the word that no instance has


@pytest.mark.parametrize("run", [Run(kernel="numpy"), Run()])
def test_names_that_are_sure_keep_the_order_of_their_scores(run):
    weights = np.float32([[30, 5, 20, 40, 0.5, 25], [0.5, 21, 20, 0, 18, 22]])
    model = LinearModel(csr_array(weights), np.zeros(6, np.float32))
    features = Features.of(as_features(np.eye(2)))
    assert len(np.unique(model.top(features, Top(6, 1e-6), run).toarray()[0])) < 6
    p = model.top(features, Top(6, 1e-6), run, np.zeros(6, np.int8)).toarray()
    assert_array_equal(np.argsort(-p[0]), [3, 0, 5, 2, 1, 4])
    assert_array_equal(np.argsort(-p[1])[:4], [5, 1, 2, 4])
    assert all(len(np.unique(row)) == 6 for row in p)
    assert_allclose(p, expit(weights), atol=1e-6)


def test_names_that_stand_where_labels_are_not_annotated_speak_against_them(problem, unused):
    """Odds are divided by one more than the instances with the whole name."""
    bias = learned(problem)[0].bias[unused]
    named = (problem.features.toarray() > 0).sum(axis=0)[unused]
    assert len(np.unique(named)) > 5
    assert_allclose(np.exp(bias[-1] - bias), 1 + named, rtol=1e-4)


def test_a_name_stands_in_an_instance_with_all_of_its_words():
    rng = np.random.default_rng(0)
    instances, vectors = rng.random((1200, 40)) < 0.3, rng.random((40, 30)) < 0.1
    vectors[:, 0] = False
    rows = np.flatnonzero(rng.random(1200) < 0.8)
    expected = [int(vectors[:, k].any()) * instances[rows][:, vectors[:, k]].all(axis=1).sum() for k in range(30)]
    weighted = csr_array(instances * rng.random(instances.shape)), csr_array(vectors * rng.random(vectors.shape))
    assert times_named(weighted[0], rows, weighted[1]).tolist() == expected


def test_as_many_unannotated_labels_are_expected_as_labels_were_annotated_once(problem, unused):
    model, _ = learned(problem)
    scores = (problem.features @ csr_array(model.weights)[:, unused]).toarray()
    named = expit(scores + model.bias[unused])[scores > 0].sum()
    once = np.count_nonzero(count_positives(problem.labels) == 1)
    assert once > 20
    assert 0.7 * named == pytest.approx(once, rel=0.01)


def test_names_that_are_nowhere_expect_nothing():
    nothing = csr_array((10, 3), dtype=np.float32)
    bias = unannotated_bias(nothing, np.arange(10), csr_array((3, 2), dtype=np.float32), 1.0, np.random.default_rng(0))
    assert (expit(bias.astype(float)) < 1e-12).all()


def test_predictions_in_passing_are_of_all_labels(problem, unused):
    features, prior = prior_of(problem)
    first, last = np.arange(300), np.arange(300, N)
    task = LearningTask(features, problem.labels, RATES, SETTINGS, prior=prior, top=Top(WORDS, 1e-6), prune=PRUNE)
    model, predicted = train_splits([Split(task, (first, last), last)])
    held_out = csr_array(predicted.probabilities).toarray()
    has_name = problem.features[last].toarray()[:, unused] > 0
    assert has_name.any()
    assert (held_out[:, unused][has_name] > 1e-4).all()
    assert model.weights.shape == (WORDS, WORDS)


@pytest.mark.parametrize("levels", [1, 2])
def test_a_model_predicts_them_where_they_are_named(problem, unused, levels):
    assert WORDS > FEW_LABELS
    model, report = train(problem, replace(GIVEN, levels=levels))
    assert isinstance(model.calibration, StratifiedCalibration)
    p = model.predictions(as_features(np.eye(WORDS)[unused]), most=WORDS).toarray()
    named = p[np.arange(len(unused)), unused]
    assert (named > 0).all()
    assert (named >= p[:, unused].max(axis=1)).all()
    assert 0 < report.expected_f1 < 1


@pytest.mark.slow
def test_names_teach_many_labels_in_one_level(problem):
    model, report = train(problem, replace(GIVEN, levels=None))
    assert len(model.levels) == len(report.level_f1) == 1
    model, _ = train(problem, replace(GIVEN, levels=None, prior="none"))
    assert len(model.levels) == 2


def test_features_of_names_alone_have_weights(problem):
    """More than half of the features, so that these are few, and the last word is still known to the model."""
    wide = {name: getattr(problem, name).copy() for name in ("features", "label_features")}
    for matrix in wide.values():
        matrix.resize((matrix.shape[0], WORDS + 2000))
    model, _ = train(replace(problem, **wide), replace(GIVEN, levels=1))
    assert model.probabilities(as_features(np.eye(WORDS, WORDS + 2000)[-1:]))[0, -1] > 0.001


# Labels that are annotated a few times, and that a name finds too: out of fold, those that are known are survivors

TEXTS, NOISE, SHOWN = 1000, 60, 0.7
LEARNED = Options(c=SHOWN, levels=1, cost=30.0, eta0=4.0, epochs=5, folds=5, prior=30.0)


class Library:
    """Texts of words, most of them rare. Each word is the name of a label, which it means more or less often."""

    def __init__(self, words: int) -> None:
        rng = np.random.default_rng(0)
        self.meant = rng.beta(0.6, 0.8, words)
        self.often = np.minimum((rng.pareto(1.0, words) + 1) * 0.5 / TEXTS, 0.2)

    def draw(self, n: int, number: int) -> tuple[csr_array, np.ndarray, np.ndarray]:
        """Return features, true labels and annotated labels of n texts."""
        rng = np.random.default_rng([0, number])
        words = rng.random((n, len(self.meant))) < self.often
        truth = words & (rng.random(words.shape) < self.meant)
        features = np.hstack([words, rng.random((n, NOISE)) < 0.1])
        return as_features(features), truth, truth & (rng.random(truth.shape) < SHOWN)

    def problem(self) -> tuple[Problem, np.ndarray]:
        """Return texts with the labels that are annotated, and which these are."""
        features, _, annotated = self.draw(TEXTS, 1)
        labels = np.flatnonzero(annotated.any(axis=0))
        names = as_features(np.eye(len(self.meant), features.shape[1])[labels])
        return Problem(features, as_labels(annotated[:, labels]), label_features=names), labels


@pytest.fixture(scope="module", params=[500, pytest.param(3000, marks=pytest.mark.slow)])
def library(request):
    return Library(request.param)


@pytest.fixture(scope="module")
def of_library(library):
    problem, labels = library.problem()
    return (*train(problem, LEARNED, hold_out_all=True), problem, labels)


def test_probabilities_of_rare_labels_are_true_of_new_instances(library, of_library):
    model, report, _, labels = of_library
    features, truth, _ = library.draw(4000, 2)
    p, y = model.probabilities(features), truth[:, labels]
    assert isinstance(model.calibration, StratifiedCalibration)
    for low, high in ((0.2, 0.5), (0.5, 0.7), (0.7, 1.01)):
        claimed = (p >= low) & (p < high)
        assert p[claimed].mean() == pytest.approx(y[claimed].mean(), abs=0.1)
    predicted = p >= model.thresholds
    reached = 2 * (predicted & y).sum() / (predicted.sum() + truth.sum())
    assert report.expected_f1 == pytest.approx(reached, abs=0.05)


@pytest.mark.parametrize("run", [Run(kernel="numpy"), Run()])
@pytest.mark.parametrize("most", [1, 3, 40])
def test_the_most_probable_labels_are_those_of_the_largest_probability(most, run):
    """Of many labels, where one with a larger score may be less probable."""
    rng = np.random.default_rng(0)
    level = LinearModel(csr_array(rng.normal(size=(8, 60)).astype(np.float32)), np.zeros(60, np.float32))
    maps = tuple(Calibration(np.array([0.0]), np.array([shift])) for shift in (-4.0, -2.0, 0.0, 1.0, 3.0))
    calibration = StratifiedCalibration(maps, rng.integers(5, size=60).astype(np.int8))
    matrix = csr_array(rng.normal(size=(30, 8)).astype(np.float32))
    calibration.apply(every := level.probabilities(Features.of(matrix)))
    model = StackedModel((level,), 0.3, np.full(60, 0.5, np.float32), calibrations=(calibration,), top=Top(most, 1e-9))
    for found in (model.predictions(matrix, run, most), model.predictions(matrix, run)):
        assert np.diff(found.indptr).tolist() == [most] * 30
        assert_allclose(np.sort(found.data.reshape(30, most)), np.sort(every)[:, -most:], rtol=1e-4)


def test_held_out_predictions_are_calibrated_by_what_their_models_have_seen(library, of_library):
    model, report, problem, _ = of_library
    made_by = report.held_out.made_by
    for fold, rows in enumerate(deal(TEXTS, 5, DEFAULT_RUN.seed)):
        assert (made_by.of_instances[rows] == fold).all()
        rest = np.setdiff1d(np.arange(TEXTS), rows)
        assert_array_equal(made_by.strata[fold], strata_of(count_positives(problem.labels[rest])))
    assert_array_equal(model.calibration.strata, strata_of(count_positives(problem.labels)))


def test_verified_labels_count_as_what_the_model_learns():
    """A label that a person found true is one that the model has seen, and one that was found false is none."""
    problem, labels = Library(500).problem()
    rows, columns = problem.labels.nonzero()
    once = np.flatnonzero(count_positives(problem.labels) == 1)[:2]
    there = np.array([rows[columns == k][0] for k in once])
    elsewhere = (there + 1) % TEXTS
    verified = VerifiedLabels.of((TEXTS, len(labels)), true=(elsewhere[:1], once[:1]), false=(there[1:], once[1:]))
    model, _ = train(replace(problem, verified=verified), LEARNED)
    assert model.calibration.strata[once].tolist() == strata_of(np.array([2, 0])).tolist()
