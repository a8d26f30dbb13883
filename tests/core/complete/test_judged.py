"""What was claimed of suggestions, corrected by what was decided of some of them."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit
from scipy.stats import binomtest

from mpu_cli.core.complete.judged import Judged


def claims(seed, truth, n=4000):
    """Claims in descending order, and whether each is true, by a function of the claim."""
    rng = np.random.default_rng(seed)
    claimed = np.sort(expit(rng.normal(-3, 3.5, n)))[::-1]
    return claimed.astype(np.float32), truth(claimed), rng.random(n) < truth(claimed)


TRUTHS = {
    "as claimed": lambda r: r,
    "half of that": lambda r: r / 2,
    "too sure": lambda r: expit(0.4 * logit(r)),
    "c too large": lambda r: expit(logit(r) + 2),
}


@pytest.mark.parametrize("truth", TRUTHS.values(), ids=TRUTHS)
def test_the_next_ones_are_claimed_as_they_are(truth):
    """After the first 50 of a list, the mean claim of the next 200 is within .06 of the truth, in the mean of lists."""
    off, before = [], []
    for seed in range(20):
        claimed, p, true = claims(seed, truth)
        judged = Judged.of(claimed[:50], true[:50])
        of_next = claimed[50:250]
        corrected = of_next if judged is None else judged.corrected(of_next)
        off.append(corrected.mean() - p[50:250].mean())
        before.append(of_next.mean() - p[50:250].mean())
    assert abs(np.mean(off)) < 0.06
    assert abs(np.mean(off)) <= abs(np.mean(before)) + 0.03


def test_where_the_top_says_little_some_of_what_is_wrong_is_corrected():
    """Where c is too small, the top of a list is right nearly as claimed, and the next ones are not."""
    off, before = [], []
    for seed in range(20):
        claimed, p, true = claims(seed, lambda r: expit(logit(r) - 1.5))
        judged = Judged.of(claimed[:50], true[:50])
        corrected = claimed if judged is None else judged.corrected(claimed)
        off.append((corrected - p)[50:250].mean())
        before.append((claimed - p)[50:250].mean())
    assert 0 < np.mean(off) < 0.7 * np.mean(before)


def test_the_line_is_the_most_probable_one():
    rng = np.random.default_rng(0)
    claimed = rng.random(60)
    true = rng.random(60) < claimed**2

    def loss(line):
        z = line[0] + line[1] * logit(claimed)
        return -np.where(true, log_expit(z), log_expit(-z)).sum() + line[0] ** 2 / 2 + (line[1] - 1) ** 2 / 0.72

    judged = Judged.of(claimed, true)
    np.testing.assert_allclose((judged.shift, judged.slope), minimize(loss, (0, 1)).x, atol=1e-3)


def test_the_interval_is_wilsons():
    true = np.arange(26) < 14
    judged = Judged.of(np.full(26, 0.995), true)
    expected = binomtest(14, 26).proportion_ci(0.95, method="wilson")
    np.testing.assert_allclose(judged.interval, (expected.low, expected.high), atol=1e-4)
    assert (judged.answered, judged.yes, round(judged.claimed, 3)) == (26, 14, 0.995)


@pytest.mark.parametrize("answered", range(1, 41))
def test_the_interval_of_no_yes_begins_at_zero(answered):
    low, high = Judged.of(np.full(answered, 0.995), np.zeros(answered, bool)).interval
    assert 0 <= low < 1e-9
    assert 0 < high <= 1


def test_few_answers_correct_little_and_the_order_stays():
    one = Judged.of(np.array([0.9]), np.array([False]))
    many = Judged.of(np.full(200, 0.9), np.arange(200) < 20)
    assert many.corrected(np.array([0.9]))[0] == pytest.approx(0.1, abs=0.03)
    assert 0.3 < one.corrected(np.array([0.9]))[0] < 0.9
    claimed = np.linspace(0, 1, 101)
    assert (many.corrected(claimed) <= claimed).all()
    assert (np.diff(many.corrected(claimed)) >= 0).all()
    assert many.corrected(claimed)[0] == 0


def test_a_list_of_what_was_accepted_says_nothing():
    assert Judged.of(np.full(40, 0.5), np.ones(40, bool)) is None


def test_claims_without_a_doubt():
    judged = Judged.of(np.array([0.0, 1.0, 1.0]), np.array([True, False, False]))
    assert np.isfinite((judged.shift, judged.slope)).all()
    assert np.isfinite(judged.corrected(np.array([0.0, 0.5, 1.0], np.float32))).all()
