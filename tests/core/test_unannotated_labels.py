"""Labels of a thesaurus that are never annotated: their names are all that is known of them."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, hstack, vstack
from scipy.special import expit

from mpu_cli.core.calibration import StratifiedCalibration
from mpu_cli.core.features import Features
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.labels.problem import Problem
from mpu_cli.core.labels.side_information import Prior, times_named, unannotated_bias
from mpu_cli.core.linear_model import LinearModel
from mpu_cli.core.options import Options
from mpu_cli.core.predictions import FEW_LABELS, Top, count_positives
from mpu_cli.core.sgd import UNLEARNED_PRIOR, LearningTask, Settings, Split
from mpu_cli.core.stacking import train
from mpu_cli.core.validation import train_splits
from mpu_cli.runtime.run import Run
from tests.core.simulated import trained

# Words are names; that of the last label is in no instance. Labels from USED on are never annotated.
N, WORDS, USED = 400, 700, 300
ROWS = np.arange(N)
RATES, SETTINGS, PRUNE = LabelFrequency(np.full(WORDS, 0.7)), Settings(30.0, 4.0, 3, prior=20.0), 0.01
GIVEN = Options(c=0.7, cost=30.0, eta0=4.0, epochs=3, folds=3, prior=20.0)


def thesaurus() -> Problem:
    """Draw instances of words, rare and less rare, that mean a label where it is in use, mostly."""
    rng = np.random.default_rng(0)
    words = rng.random((N, WORDS)) < np.append(0.002 + 0.02 * rng.random(WORDS - 1) ** 4, 0)
    annotated = words & (rng.random(words.shape) < 0.6) & (np.arange(WORDS) < USED)
    names = csr_array(np.eye(WORDS, dtype=np.float32))
    return Problem(csr_array(words.astype(np.float32)), csr_array(annotated), label_features=names)


def prior_of(problem: Problem, sparing: bool = True) -> tuple[Features, Prior]:
    features = Features.of(problem.features)
    prior = Prior.of(features, problem.label_features)
    return features, prior.sparing(features, problem.labels) if sparing else prior


def learned(problem: Problem, rows: np.ndarray = ROWS, settings: Settings = SETTINGS) -> tuple[LinearModel, float]:
    """Learn labels from some of the instances; return also the length of a name's weights by the prior of 1."""
    features, prior = prior_of(problem)
    model = trained(features, problem.labels, rows, RATES, settings, prior=prior, prune=PRUNE)
    return model, 1 / np.sqrt(features.mean_squared_norm(rows))


def weights_of(model: LinearModel) -> csr_array:
    return csr_array(model.weights)


@pytest.fixture(scope="module")
def problem():
    return thesaurus()


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
    assert_array_equal(weights_of(model)[:, used].toarray(), weights_of(expected).toarray())
    assert_array_equal(model.bias[used], expected.bias)


@pytest.mark.parametrize(("prior", "length"), [(20.0, UNLEARNED_PRIOR), (60.0, 60.0)])
def test_the_weights_of_unannotated_labels_are_their_names(problem, unused, prior, length):
    model, one = learned(problem, settings=replace(SETTINGS, prior=prior))
    assert_allclose(weights_of(model)[:, unused].toarray(), length * one * np.eye(WORDS)[:, unused], rtol=1e-6)
    assert unused[-1] == WORDS - 1  # also of the word that no instance has


@pytest.mark.parametrize("run", [Run(kernel="numpy"), Run()])
def test_names_that_are_sure_keep_the_order_of_their_scores(run):
    weights = np.float32([[30, 5, 20, 40, 0.5, 25], [0.5, 21, 20, 0, 18, 22]])
    model = LinearModel(csr_array(weights), np.zeros(6, np.float32))
    features = Features.of(csr_array(np.eye(2, dtype=np.float32)))
    assert len(np.unique(model.top(features, Top(6, 1e-6), run).toarray()[0])) < 6
    p = model.top(features, Top(6, 1e-6), run, apart=True).toarray()
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
    scores = (problem.features @ weights_of(model)[:, unused]).toarray()
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
    new = csr_array(np.eye(WORDS, dtype=np.float32)[unused])
    p = model.probabilities(new)
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
    wide = replace(
        problem,
        features=csr_array(hstack([problem.features, csr_array((N, 2000), dtype=np.float32)])),
        label_features=csr_array(hstack([problem.label_features, csr_array((WORDS, 2000), dtype=np.float32)])),
    )
    model, _ = train(wide, replace(GIVEN, levels=1))
    new = vstack([csr_array(([1.0], ([0], [WORDS - 1])), shape=(1, WORDS + 2000)).astype(np.float32)], format="csr")
    assert model.probabilities(csr_array(new))[0, WORDS - 1] > 0.001
