import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.special import expit

from mpu_cli.core.frequency.label_frequency import EarlierEstimate, LabelFrequency
from mpu_cli.core.predictions import Cells
from mpu_cli.core.problem import VerifiedLabels
from mpu_cli.core.sample import Estimates
from mpu_cli.people import posteriors
from mpu_cli.people.posteriors import (
    Choice,
    count_missing_labels,
    list_missing,
    unannotated_posterior,
    worth_filling_in,
)

N, Q = 60, 7


@pytest.fixture
def problem(monkeypatch):
    """Probabilities with equals among them, annotations, verified labels; several blocks of instances."""
    monkeypatch.setattr(posteriors, "_CELLS", 8 * Q)
    rng = np.random.default_rng(0)
    probabilities = (rng.integers(0, 21, (N, Q)) / 20).astype(np.float32)
    annotated = csr_array(rng.random((N, Q)) < 0.2)
    verified = VerifiedLabels.of(
        (N, Q), true=([0, 1], [1, 2]), false=([2, 3], [3, 3]), ignored=([4], [4]), complete=[5, 6]
    )
    return probabilities, annotated, LabelFrequency.of(np.linspace(0.3, 0.9, Q), (N, Q), verified)


def by_hand(probabilities, annotated, frequency):
    """Every cell that may be suggested, by decreasing probability, then instance, then label."""
    posteriors = unannotated_posterior(probabilities, frequency.rates)
    unknown = frequency.verified.verdicts() == 0 if frequency.verified is not None else np.ones(posteriors.shape, bool)
    cells = [
        (-posteriors[i, k], i, k)
        for i, k in zip(*np.nonzero(unknown & ~annotated.toarray() & (posteriors > 0)), strict=True)
    ]
    return [(int(i), int(k), -p) for p, i, k in sorted(cells)]


def as_list(cells):
    return list(zip(cells.rows.tolist(), cells.columns.tolist(), cells.probabilities.tolist(), strict=True))


@pytest.mark.parametrize("top", [1, 5, 40, 10**6, None])
@pytest.mark.parametrize("least", [None, 0.25])
@pytest.mark.parametrize("most", [1, 0.3])
def test_the_most_probable_in_order_also_where_a_correction_makes_them_equal(problem, top, least, most):
    expected = [(i, k, min(p, np.float32(most))) for i, k, p in by_hand(*problem) if p >= (least or 0)]
    found = list_missing(*problem, Choice(top=top, least=least), correction=lambda p: np.minimum(p, np.float32(most)))
    assert as_list(found) == expected[:top]


@pytest.mark.parametrize("k", [1, 2, Q, Q + 1])
def test_of_each_instance(problem, k):
    expected, seen = [], np.zeros(N, int)
    for cell in by_hand(*problem):
        if seen[cell[0]] < k:
            expected.append(cell)
            seen[cell[0]] += 1
    assert as_list(list_missing(*problem, Choice(per_instance=k))) == expected


def test_what_is_left_out(problem):
    left_out = csr_array(np.random.default_rng(1).random((N, Q)) < 0.5)
    expected = [cell for cell in by_hand(*problem) if not left_out[cell[0], cell[1]]]
    assert as_list(list_missing(*problem, Choice(), left_out)) == expected


def test_nothing_is_missing_where_all_is_annotated(problem):
    probabilities, annotated, _ = problem
    of_labels, of_all = count_missing_labels(annotated, LabelFrequency.of(1.0, (N, Q)))
    assert not of_labels.expected.any()
    assert (of_all.expected, of_all.low, of_all.high) == (0, 0, 0)
    assert not len(list_missing(probabilities, annotated, LabelFrequency.of(1.0, (N, Q)), Choice()))


def test_what_is_complete_is_not_missing_and_what_is_found_is():
    annotated = csr_array(np.arange(100)[:, None] < [50, 50])
    verified = VerifiedLabels.of((100, 2), true=(range(60, 70), [0] * 10), complete=range(25))
    of_labels, _ = count_missing_labels(annotated, LabelFrequency.of(0.5, (100, 2), verified))
    assert of_labels.expected.tolist() == [25, 25]


@settings(deadline=None)
@given(st.lists(st.floats(0, 1, width=32), max_size=30), st.integers(1, 40), st.floats(0, 40))
def test_filling_in_ends_where_expected_f1_is_largest(values, there, missing):
    probabilities = np.sort(np.array(values, np.float32))[::-1]
    listed = Cells(np.arange(len(values)), np.arange(len(values)), probabilities)
    best = worth_filling_in(listed, there, there + missing)
    f1 = [
        2 * (there + min(probabilities[:size].sum(dtype=float), missing)) / (2 * there + size + missing)
        for size in range(len(values) + 1)
    ]
    assert best.f1_after == pytest.approx(max(f1)) and best.f1_after <= 1
    assert (best.f1_before, f1[best.size]) == (pytest.approx(f1[0]), pytest.approx(max(f1)))
    assert (probabilities[: best.size] >= best.f1_after / 2 - 1e-6).all()


@pytest.mark.parametrize("true_c", [0.42, 0.58])
def test_intervals_of_counts_hold_where_c_is_near_either_end_of_its_interval(true_c):
    rng = np.random.default_rng(0)
    p = 0.8 * expit(rng.normal(-3, 2, (20_000, 3)))
    truth = rng.random(p.shape) < p
    annotated = csr_array(truth & (rng.random(p.shape) < true_c))
    frequency, estimates = (
        LabelFrequency.of(0.5, p.shape),
        Estimates(given=EarlierEstimate(np.full(3, 0.5), 0.5, (0.4, 0.6))),
    )
    missing = truth & ~annotated.toarray()
    of_labels, of_all = count_missing_labels(annotated, frequency, estimates)
    assert of_all.low <= missing.sum() <= of_all.high
    assert np.isnan([of_labels.low, of_labels.high]).all()  # c of single labels is not known so well
    chance_alone = count_missing_labels(annotated, frequency)[1]
    assert not chance_alone.low <= missing.sum() <= chance_alone.high


def test_where_labels_differ_the_interval_is_that_of_c_of_all():
    """At its upper end of 1, nothing is missing."""
    annotated, rates = csr_array(np.arange(1000)[:, None] < [300, 100]), np.array([0.75, 0.25])
    ends = [
        count_missing_labels(
            annotated, LabelFrequency.of(rates, (1000, 2)), Estimates(given=EarlierEstimate(rates, 0.5, of))
        )[1]
        for of in ((0.4, 1.0), (0.4, 0.8))
    ]
    assert [(of_all.expected, of_all.low, of_all.high) for of_all in ends] == [(400, 0, 600), (400, 100, 600)]


def test_no_fewer_are_missing_than_were_found():
    """All 100 true cells of a label are decided, and c says that only 10 labels are missing."""
    annotated = csr_array(np.arange(200)[:, None] < np.array([[90, 45]]))
    verified = VerifiedLabels.of((200, 2), true=(np.arange(50, 150), np.ones(100, int)))
    of_labels, of_all = count_missing_labels(annotated, LabelFrequency.of(0.9, (200, 2), verified))
    assert of_labels.expected == pytest.approx([10, 100])
    assert (of_all.low, of_all.expected) == (100, 110)


def test_the_total_is_that_of_labels_whose_cells_limit_it():
    of_labels, of_all = count_missing_labels(
        csr_array(np.arange(60)[:, None] < [28, 37]), LabelFrequency.of(0.5, (60, 2))
    )
    assert (of_labels.expected.tolist(), of_all.expected) == ([28, 23], 51)
