"""Questions on cells drawn by chance, and what their answers say of the label frequency."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.special import expit, logit

from mpu_cli.core.frequency.questions import ScoredCells, draw_questions, fit, forecast, from_people
from mpu_cli.core.problem import Answers, Problem, VerifiedLabels
from tests.core.simulated import as_labels
from tests.core.verified import complete_review
from tests.slow import slow


def collection(c, n=1500, seed=0):
    """True labels, annotated ones, and cells scored by Pr(s=1 | x); label k has the frequency c[k]."""
    rng = np.random.default_rng(seed)
    p = expit(rng.normal(-2, 2.5, (n, len(c))))
    Y = rng.random(p.shape) < p
    S = Y & (rng.random(p.shape) < c)
    return Y, S, ScoredCells.of((p * c).astype(np.float32), as_labels(S), None, np.arange(S.shape[1]))


def answer(questions, Y):
    """Answer questions by the truth."""
    cells = questions.rows, questions.columns
    return Answers(*cells, Y[cells])


def asked(Y, cells, n, seed=0):
    return answer(draw_questions(cells, n, seed), Y)


def one(posterior, outside=0.1):
    """The mean and the interval of the share overall."""
    return float(posterior.overall.mean()[0]), posterior.overall.interval(outside)[0]


def test_questions_are_on_open_cells_and_each_is_asked_once():
    _, S, cells = collection(np.full(5, 0.5))
    questions = draw_questions(cells, 200, seed=1)
    assert len(questions) == 200
    assert not S[questions.rows, questions.columns].any()
    assert len(set(zip(questions.rows.tolist(), questions.columns.tolist(), strict=True))) == 200
    assert ((questions.chance > 0) & (questions.chance <= 1)).all()
    again, other = draw_questions(cells, 200, seed=1), draw_questions(cells, 200, seed=2)
    assert_array_equal(questions.rows, again.rows)
    assert set(questions.rows.tolist()) != set(other.rows.tolist())


def test_cells_are_drawn_with_the_probabilities_that_are_written():
    """Each cell is drawn as often as the probability beside it says, which Horvitz and Thompson's estimator needs."""
    _, _, cells = collection(np.array([0.3, 0.6]), n=60)
    times, chance = np.zeros(cells.scores.shape), np.zeros(cells.scores.shape)
    for seed in range(400):
        questions = draw_questions(cells, 20, seed)
        times[questions.rows, questions.columns] += 1
        chance[questions.rows, questions.columns] = questions.chance
    seen = times > 0
    deviation = np.sqrt(chance * (1 - chance) / 400)
    assert (abs(times / 400 - chance)[seen] < 4.5 * deviation[seen] + 1e-9).all()
    assert chance.sum() == pytest.approx(20, abs=0.5)


@pytest.mark.parametrize("n", [20, 100])
def test_as_many_labels_are_missing_as_the_frequencies_of_labels_say(n):
    """What is not known of single labels does not make the share overall smaller than they say."""
    rng = np.random.default_rng(3)
    for seed in range(3):
        Y, _, cells = collection(rng.uniform(0.1, 0.9, 40), n=400, seed=seed)
        posterior = fit(cells, asked(Y, cells, n, seed))
        each = cells.annotations @ (1 / posterior.by_label.mean() - 1)
        overall, _ = one(posterior)
        assert overall == pytest.approx(1 / (1 + each / cells.annotations.sum()), abs=0.02)


def test_no_more_is_asked_than_there_is():
    _, _, cells = collection(np.array([0.5]), n=40)
    questions = draw_questions(cells, 1000, seed=0)
    assert 0 < len(questions) <= cells.open.sum()
    assert_array_equal(questions.chance, 1)
    assert len(draw_questions(replace(cells, open=np.zeros_like(cells.open)), 10, seed=0)) == 0


def test_next_questions_are_others_and_by_the_answers():
    Y, _, cells = collection(np.full(4, 0.9), n=3000)
    first = draw_questions(cells, 100, seed=0)
    still_open = cells.open.copy()
    still_open[first.rows, first.columns] = False
    cells = replace(cells, open=still_open)
    fitted = fit(cells, answer(first, Y))
    second = draw_questions(cells, 100, 0, fitted.truth)
    assert cells.open[second.rows, second.columns].all()
    scores = cells.scores[second.rows, second.columns]
    assert_allclose(fitted.truth(scores, second.columns), second.probabilities)
    assert second.probabilities.mean() == pytest.approx(Y[second.rows, second.columns].mean(), abs=0.1)


def test_no_wider_interval_is_forecast():
    """One yes would widen it: until then, nearly all answers are no."""
    Y, _, cells = collection(np.full(2, 0.95), n=60, seed=5)
    answers = asked(Y, cells, 40, seed=5)
    cells.open[answers.rows, answers.columns] = False
    assert forecast(cells, answers, (), 0.5, 0.98, None) == ({}, None)


@pytest.mark.parametrize(("n", "seed"), [(50, 0), (110, 0), (120, 1)])
def test_a_plan_agrees_with_the_width_after_as_many_answers_again(n, seed):
    Y, _, cells = collection(np.full(4, 0.5), n=600, seed=seed)
    answers = asked(Y, cells, n, seed)
    cells.open[answers.rows, answers.columns] = False
    _, then = forecast(cells, answers, (), 0.5, 0.5, None)
    needed, _ = forecast(cells, answers, (1.005 * then, then, 0.995 * then), 0.5, 0.5, None)
    assert needed[1.005 * then] <= needed[then] == n < needed[0.995 * then]


@pytest.mark.parametrize("n", [5, 40])
def test_where_no_answer_finds_a_missing_label_none_need_be_missing(n):
    """An automatic estimate near 1 is not exact either: the answers do not tell 0.98 from 1."""
    Y, _, cells = collection(np.ones(5))
    answers = asked(Y, cells, n)
    assert not answers.true.any()
    posterior = fit(cells, answers, automatic=0.995)
    assert_array_equal(posterior.by_label.interval(0.1)[:, 1], 1)
    c, (low, high) = one(posterior)
    assert low < min(c, 0.985)
    assert c < high == 1


def test_few_answers_that_agree_leave_the_automatic_estimate_and_others_outweigh_it():
    Y, _, cells = collection(np.full(8, 0.5), n=2000)
    lists = [asked(Y, cells, 30, seed) for seed in range(8)]
    alone, agreed, contradicted = (
        np.array([one(fit(cells, answers, automatic))[0] for answers in lists]) for automatic in (None, 0.5, 0.99)
    )
    assert abs(agreed - 0.5).mean() < min(0.05, abs(alone - 0.5).mean())
    assert abs(contradicted - alone).mean() < 0.05


def test_reviewed_instances_count_together_with_answers():
    c = np.array([0.8, 0.3])
    Y, _, cells = collection(c, n=2000)
    reviewed = np.array([[80, 100], [30, 100]])
    answers = asked(Y, cells, 40)
    alone, both = (fit(cells, answers, reviewed=counts).by_label for counts in (None, reviewed))
    assert (np.ptp(both.interval(0.1), axis=1) < np.ptp(alone.interval(0.1), axis=1)).all()
    assert_allclose(both.mean(), c, atol=0.06)


def test_such_a_label_is_taken_for_like_those_that_the_features_show_as_surely():
    """Half of the labels are annotated badly: a classifier is less sure of them, which says which of them is which."""
    Y, _, cells = collection(np.tile([0.85, 0.25], 8), n=2000)
    answers = asked(Y, cells, 200)
    fitted = fit(cells, answers[answers.columns < 14])
    assert_allclose(fitted.by_label.mean()[14:], [0.85, 0.25], atol=0.2)


def test_estimates_of_labels_that_differ_are_their_prior():
    c, errors = np.linspace(0.15, 0.9, 20), []
    for seed in range(3):
        Y, _, cells = collection(c, seed=seed)
        estimated = c + np.random.default_rng(seed).normal(0, 0.05, 20)
        answers = asked(Y, cells, 40, seed)
        found = (fit(some, answers, 0.5).by_label.mean() for some in (cells, replace(cells, single=estimated)))
        errors.append([np.abs(np.log(one / c)).mean() for one in found])
    without, using = np.mean(errors, axis=0)
    assert using < 0.9 * without


def test_complete_and_ignored_cells_are_left_out_and_decided_ones_are_not_asked():
    _, S, _ = collection(np.full(2, 0.5), n=10)
    S[:, 0] = np.arange(10) < 5
    verified = VerifiedLabels.of(S.shape, true=([9], [0]), false=([8], [0]), ignored=([7], [0]), complete=[0, 6])
    cells = ScoredCells.of(np.full(S.shape, 0.5, np.float32), as_labels(S), verified, np.arange(S.shape[1]))
    assert_array_equal(np.flatnonzero(cells.missing[:, 0]), [5, 8, 9])
    assert_array_equal(np.flatnonzero(cells.open[:, 0]), [5])
    assert cells.annotations[0] == 4


def test_what_people_say_of_c_has_what_it_rests_on():
    Y, S, cells = collection(np.full(3, 0.4), n=2000)
    answers = asked(Y, cells, 60)
    of_five = csr_array((2000, 5), dtype=bool)
    some = replace(cells, columns=np.array([0, 2, 3]))
    found = from_people(Problem(of_five, of_five), answered=(some, answers))
    assert (found.answers, found.yes, found.instances) == (60, answers.true.sum(), 0)
    assert (found.rates.shape, found.basis) == ((5,), "60 answers")
    assert found.limits[0] < found.interval[0] < found.c < found.interval[1] < found.limits[1]
    rows = np.arange(40)
    verified = complete_review(Y, rows)
    problem = Problem(csr_array((2000, 1), dtype=np.float32), as_labels(S), verified=verified, sampled=rows)
    both = from_people(problem, answered=(cells, answers))
    assert (both.answers, both.instances) == (60, 40)
    assert_array_equal(both.true, Y[rows].sum(axis=0))
    assert both.basis == "60 answers and 40 complete label sets"


@pytest.mark.parametrize("extreme", [0.0, 1.0])
def test_scores_without_a_doubt(extreme):
    """Scores of 0 and 1, one answer, a label that is never annotated: numbers stay finite."""
    S = np.zeros((20, 2), bool)
    S[:5, 0] = True
    cells = ScoredCells.of(np.full(S.shape, extreme, np.float32), as_labels(S), None, np.arange(S.shape[1]))
    fitted = fit(cells, Answers(np.array([9]), np.array([1]), np.array([True])), 1.0)
    c, (low, high) = one(fitted)
    assert 0 < low < c < high < 1
    assert np.isfinite(fitted.by_label.mean()).all()
    draw_questions(cells, 5, 0, fitted.truth)


@pytest.mark.parametrize(("simulations", "lowest", "highest"), [(40, 0.8, 1.0), *slow((300, 0.85, 0.95))])
def test_intervals_cover(simulations, lowest, highest):
    """90 % intervals, of all labels and of each, where frequencies of labels are drawn as widely as they may be."""
    overall, single = [], []
    for seed in range(simulations):
        rng = np.random.default_rng(seed)
        c = expit(rng.normal(rng.normal(0, 0.7), rng.choice([0.3, 0.6, 1.0]), 8))
        Y, S, cells = collection(c, n=800, seed=seed)
        truth = S.sum(axis=0) / Y.sum(axis=0)
        automatic = float(rng.uniform(c.mean(), 1))  # as far as it can be trusted
        fitted = fit(cells, asked(Y, cells, int(rng.choice([40, 80, 160])), seed), automatic)
        _, (low, high) = one(fitted)
        overall.append(low <= S.sum() / Y.sum() <= high)
        ends = fitted.by_label.interval(0.1)
        single += ((ends[:, 0] <= truth) & (truth <= ends[:, 1])).tolist()
    assert lowest <= np.mean(overall) <= highest
    assert lowest <= np.mean(single) <= highest


def test_depth():
    """Where the labels that the features hardly show are missed more often, the estimate is not far off."""
    rng = np.random.default_rng(0)
    p = expit(rng.normal(-2, 2.5, (4000, 8)))
    Y = rng.random(p.shape) < p
    S = Y & (rng.random(p.shape) < 0.1 + 0.8 * p)
    cells = ScoredCells.of((p * (0.1 + 0.8 * p)).astype(np.float32), as_labels(S), None, np.arange(S.shape[1]))
    fitted = fit(cells, asked(Y, cells, 400), automatic=0.9)
    low, high = logit(fitted.truth(np.array([-6.0, -5.0]), np.zeros(2, int)))
    assert high - low < 0.99  # 1 without depth
    assert one(fitted)[0] == pytest.approx(S.sum() / Y.sum(), abs=0.08)
    assert logit(one(fitted)[0]) < logit(0.85)
