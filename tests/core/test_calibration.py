import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.special import expit, logit

from mpu_cli.core.calibration import BINS, BinnedCells, Calibration, HeldOut, calibrate, calibrate_strata
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.options import Options
from mpu_cli.core.predictions import SourceModels, strata_of
from mpu_cli.core.problem import Problem, VerifiedLabels
from mpu_cli.core.stacking import train
from tests.core.simulated import as_features, hide, linear_problem
from tests.hypotheses import examples
from tests.slow import slow_uncompiled

N, Q = 20_000, 5


def simulated(c, distort, seed=0):
    """Predictions whose log odds are those of the truth, distorted; labels; what is annotated of them."""
    rng = np.random.default_rng(seed)
    z = rng.normal(-3, 2, (N, Q))
    truth = rng.random((N, Q)) < expit(z)
    annotated = truth & (rng.random((N, Q)) < c)
    return expit(distort(z)).astype(np.float32), truth, csr_array(annotated)


@pytest.mark.parametrize("c", [0.4, 0.7, 1.0, np.linspace(0.3, 0.9, Q)], ids=str)
@pytest.mark.parametrize(
    "distort", [lambda z: z, lambda z: z / 2 - 2, lambda z: 3 * z + 1], ids=["as is", "low", "steep"]
)
def test_predictions_become_probabilities(c, distort):
    predictions, truth, annotated = simulated(c, distort)
    calibration = calibrate(HeldOut(predictions, annotated, LabelFrequency.of(c, (N, Q))))
    probabilities = calibration(predictions)
    assert (probabilities.dtype, probabilities.sum()) == (np.float32, pytest.approx(truth.sum(), rel=0.05))
    order = np.argsort(predictions, axis=None)
    for cells in np.array_split(order[-20_000:], 8):
        assert probabilities.ravel()[cells].mean() == pytest.approx(truth.ravel()[cells].mean(), abs=0.04)


@pytest.mark.parametrize("c", [0.5, 1.0])
def test_votes_become_probabilities_though_none_and_all_have_no_log_odds(c):
    rng = np.random.default_rng(0)
    p = expit(rng.normal(-2, 2, (N, Q)))
    votes = (rng.binomial(10, p) / 10).astype(np.float32)
    truth = rng.random((N, Q)) < p
    annotated = csr_array(truth & (rng.random((N, Q)) < c))
    probabilities = calibrate(HeldOut(votes, annotated, LabelFrequency.of(c, (N, Q))))(votes)
    assert probabilities.sum() == pytest.approx(truth.sum(), rel=0.02)
    for number in range(11):
        cells = votes == np.float32(number / 10)
        assert probabilities[cells].mean() == pytest.approx(truth[cells].mean(), abs=0.06)


@settings(deadline=None, max_examples=examples(60))
@given(
    st.integers(0, 2**32 - 1),
    st.floats(0.05, 1),
    st.floats(-8, 8),
    st.floats(0.05, 8),
    arrays(np.float32, 40, elements=st.floats(0, 1, width=32)),
)
def test_order_stays(seed, c, shift, steepness, new):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(300, 4))
    annotated = csr_array((rng.random(z.shape) < expit(2 * z)) & (rng.random(z.shape) < c))
    predictions = expit(steepness * z + shift).astype(np.float32)
    calibration = calibrate(HeldOut(predictions, annotated, LabelFrequency.of(c, z.shape)))
    mapped = calibration(np.sort(new))
    assert (np.diff(mapped) >= 0).all()
    assert ((mapped >= 0) & (mapped <= 1)).all()
    inside = np.linspace(0.05, 0.95, 200).astype(np.float32)
    assert (np.diff(calibration.log_odds(logit(inside.astype(float)))) > 0).all()


def test_the_surest_predictions_keep_their_order():
    """Where c is too low, all cells above some prediction are taken for true, and the map is steep; also of strata."""
    rng = np.random.default_rng(0)
    z = rng.normal(0, 5, (4_000, 20))
    annotated = csr_array((rng.random(z.shape) < expit(4 * z)) & (rng.random(z.shape) < 0.5))
    predictions, frequency = expit(z).astype(np.float32), LabelFrequency.of(0.45, z.shape)
    annotations = np.repeat([3, 50], 10)
    made_by = SourceModels(np.zeros(len(z), np.int8), strata_of(annotations[None]))
    strata = calibrate_strata(BinnedCells.of(HeldOut(predictions, annotated, frequency, made_by=made_by)), annotations)
    surest = np.sort(predictions[predictions < 0.9999])[-4_000:]
    of_all = calibrate(HeldOut(predictions, annotated, frequency))
    for calibration in (of_all, *(strata.maps[k] for k in np.unique(strata.strata))):
        probabilities = calibration(surest)
        assert (np.diff(probabilities) >= 0).all() and probabilities[-1] < 1
        assert len(np.unique(probabilities)) > 200  # of the 1,700 numbers that float32 has from 0.9999 to 1


def test_known_cells_count_as_what_they_are_and_ignored_ones_not_at_all():
    predictions, truth, annotated = simulated(0.3, lambda z: z / 2 - 2)
    half = np.arange(N) < N // 2
    ignored = np.nonzero(np.arange(N)[:, None] >= [N] * (Q - 1) + [0])
    verified = VerifiedLabels.of((N, Q), complete=half, ignored=ignored)
    labels = np.where(half[:, None], truth, annotated.toarray())
    labels[:, -1] = True  # nonsense: the last label is ignored wherever it is not complete
    calibration = calibrate(HeldOut(predictions, csr_array(labels), LabelFrequency.of(0.3, (N, Q), verified)))
    probabilities = calibration(predictions)[:, : Q - 1]
    assert probabilities.sum() == pytest.approx(truth[:, : Q - 1].sum(), rel=0.05)


@pytest.mark.parametrize("spread", [1, 4])
@pytest.mark.parametrize("n", [2_000, 200_000])
def test_predictions_that_tell_nothing_become_the_share_of_true_labels(n, spread):
    rng = np.random.default_rng(1)
    predictions = expit(rng.normal(-2, spread, (n, 1))).astype(np.float32)
    annotated = csr_array(rng.random((n, 1)) < 0.4)
    probabilities = calibrate(HeldOut(predictions, annotated, LabelFrequency.of(1.0, (n, 1))))(predictions)
    assert probabilities.mean() == pytest.approx(annotated.mean(), abs=0.01)
    for cells in np.array_split(np.argsort(predictions, axis=None), 5):
        assert probabilities.ravel()[cells].mean() == pytest.approx(0.4, abs=0.16)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("c", [1e-300, 1e-6, 1.0])
@pytest.mark.parametrize("value", [0, 1e-45, 1e-20, 0.5, 1 - 2**-24, 1], ids=str)
def test_is_finite_where_all_predictions_are_alike(value, c):
    predictions = np.full((4, 3), value, np.float32)
    calibration = calibrate(HeldOut(predictions, csr_array(np.eye(4, 3, dtype=bool)), LabelFrequency.of(c, (4, 3))))
    assert np.isfinite(calibration.actual).all()
    expected = min(0.25 / c, 1 - 0.5 / 12)
    if 1e-30 < value < 0.9:
        assert calibration(predictions) == pytest.approx(np.full((4, 3), expected), abs=1e-3)


@slow_uncompiled
@pytest.mark.parametrize("levels", [1, 2, 3])
def test_a_trained_model_predicts_probabilities(levels):
    X, Y = linear_problem(2000, 8, 4)
    X, S = as_features(X), hide(Y, 0.5)
    options = Options(levels=levels, c=0.5, cost=10.0, epochs=2, features="linear")
    model, report = train(Problem(X, S), options, hold_out_all=True)
    bare, bare_report = train(Problem(X, S), options, hold_out_all=True, calibrated=False)
    held_out, as_predicted = report.held_out.probabilities, bare_report.held_out.probabilities
    assert_array_equal(held_out, model.calibration(as_predicted))
    assert_array_equal(model.probabilities(X), model.calibration(bare.probabilities(X)))
    assert_array_equal(model.probabilities(X) >= model.thresholds, bare.probabilities(X) >= bare.thresholds)
    assert report.expected_f1 == bare_report.expected_f1
    assert held_out.sum() == pytest.approx(S.sum() / 0.5, rel=0.05)


def test_the_reverse_is_the_inverse():
    calibration = Calibration(np.array([-3.0, 0.0, 2.0]), np.array([-2.0, -1.5, 4.0]))
    predictions = np.array([1e-6, 0.02, 0.3, 0.5, 0.8, 0.99], np.float32)
    few = calibration(predictions)
    assert_allclose(calibration.reverse(few), predictions, rtol=2e-3)
    assert_array_equal(calibration(np.resize(predictions, BINS))[: len(few)], few)  # of many, by a table
