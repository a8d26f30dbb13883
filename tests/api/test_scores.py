"""c, probabilities, missing labels and questions by the scores of any model; annotations that are unknown."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.multiclass import OneVsRestClassifier

from mpu_cli import (
    IncompleteLabelClassifier,
    MPUClassifier,
    MpuWarning,
    c_from_review,
    calibrate,
    choose_thresholds,
    estimate_c,
    missing_labels,
    out_of_fold,
    questions,
    unannotated_posterior,
)
from tests.api.test_forms_of_labels import Frame
from tests.golden import refused


@pytest.fixture(scope="module")
def scored(halved):
    """Features, true labels, annotated ones, and the scores of logistic regression."""
    X, _, S = halved
    return *halved, cross_val_predict(OneVsRestClassifier(LogisticRegression()), X, S, method="predict_proba")


def test_c_by_scores_of_any_model(scored):
    X, Y, S, P = scored
    found = estimate_c(y=S, scores=P)
    assert found.c == pytest.approx(S.sum() / Y.sum(), abs=0.06)
    assert found.c == pytest.approx(estimate_c(X, S, features="linear").c, abs=0.04)
    gap = estimate_c(y=np.insert(S, 0, 0, axis=1), scores=np.insert(P, 0, 0, axis=1))
    assert (gap.c, gap.labels.tolist()) == (found.c, (found.labels + 1).tolist())


@pytest.mark.parametrize("method", ["e1", "e2", "e3"])
def test_scores_that_are_not_the_probability_of_an_annotation_are_refused_where_their_size_counts(scored, method):
    X, _, S, P = scored
    assert 0 < estimate_c(y=S, scores=P, method=method).c <= 1
    true = out_of_fold(X, S, MPUClassifier(levels=1, c=0.5, C=10.0, epochs=5)).probabilities
    assert estimate_c(y=S, scores=true).c == pytest.approx(0.5, abs=0.1)  # of which the order suffices
    with refused(ValueError, "add up to 2.0 times the annotations"):
        estimate_c(y=S, scores=true, method=method)


@pytest.mark.parametrize("names", [range(5), [10, 7, 0, 3, 4], list("vwxyz")])
def test_a_label_of_all_instances_is_left_out_or_refutes_c_by_its_name(scored, names):
    X, _, S, P = scored
    S, P = (np.insert(np.insert(values, 0, 1, axis=1), 0, 0, axis=1) for values in (S, P))
    named, unknown = Frame(S, names), S.astype(float)
    unknown[::5, 1] = np.nan
    with pytest.warns(MpuWarning) as found:
        assert estimate_c(y=named, scores=P).left_out == (1,)
        MPUClassifier(classes=names, levels=1, C=10.0, features="linear").fit(X, S)
        IncompleteLabelClassifier(LogisticRegression(), folds=2).fit(X, named)
    assert [f"annotated with label {names[1]}, which" in str(one.message) for one in found] == [True] * 3
    for use in (
        lambda: MPUClassifier(classes=names, c=0.5).fit(X, S),
        lambda: MPUClassifier(classes=names, c=0.5).fit(X, unknown),
        lambda: IncompleteLabelClassifier(LogisticRegression(), c=0.5).fit(X, named),
        lambda: choose_thresholds(P, named, 0.5),
        lambda: choose_thresholds(P, named, 1.0, reviewed=-S, ignored=S),
    ):
        with refused(ValueError, f"label {names[1]} "):
            use()


@pytest.mark.parametrize("seed", [1, 8, 120])
def test_label_thresholds_are_reached_by_what_float32_rounds_up(seed):
    rng = np.random.default_rng(seed)
    P = (rng.random((300, 2)) ** 2).round(1)  # 0.6 is more in float32
    S = rng.random(P.shape) < P * rng.choice([0.3, 0.5, 0.7])
    best = choose_thresholds(P, S, 1.0, "per-label")
    for reached in (best.thresholds <= P, best.thresholds <= P.astype(np.float32)):
        assert 2 * (reached & S).sum() / (reached.sum() + S.sum()) == pytest.approx(best.expected_f1)


def test_c_by_answers_to_questions_that_scores_draw(scored):
    _, Y, S, P = scored
    asked = questions(y=S, scores=P, n=100)
    cells, answers, chances = (asked.rows, asked.columns), np.zeros(S.shape), np.zeros(S.shape)
    answers[cells], chances[cells] = np.where(Y[cells], 1, -1), asked.chance
    found, added = (c_from_review(labels, answers, chances, scores=P) for labels in (S, np.maximum(S, answers)))
    assert (found.answers, found.c) == (added.answers, added.c) == (100, pytest.approx(S.sum() / Y.sum(), abs=0.1))
    for arguments in (answers, chances), (answers * 0, chances):
        with refused(ValueError):
            c_from_review(S, *arguments)


def test_c_of_each_label(scored):
    X, Y, _, P = scored
    S = (Y & (np.random.default_rng(2).random(Y.shape) < [0.9, 0.6, 0.3])).astype(int)
    P = cross_val_predict(OneVsRestClassifier(LogisticRegression()), X, S, method="predict_proba")
    kept = S.sum(axis=0) / Y.sum(axis=0)  # what intervals are of: chance has kept .32 in place of .3 of one
    for arguments in ({"X": X, "features": "linear"}, {"scores": P}):
        found = estimate_c(y=S, per_label=True, **arguments)
        low, high = found.intervals.T
        assert ((low <= kept) & (high >= kept)).all()
        assert found.c[0] > found.c[1] + 0.1 > found.c[2] + 0.2
        assert found.intervals.shape == (3, 2)
        assert not found.pooled.any()


def test_c_of_each_label_is_unknown_if_instances_have_one_label_each():
    X = np.eye(4)[np.arange(300) % 4]
    with pytest.warns(MpuWarning):
        found = estimate_c(X, X * (np.arange(300) % 5 > 0)[:, None], per_label=True, features="linear")
    assert np.isnan(found.c).tolist() == [True] * 4
    assert np.isnan(found.intervals).all()


def test_features_scores_and_models_cannot_be_confused(scored):
    X, _, S, P = scored
    for use in (
        lambda: estimate_c(y=S),
        lambda: estimate_c(X, S, scores=P),
        lambda: estimate_c(X),
        lambda: unannotated_posterior(P, [0.5, 0.6]),
        lambda: unannotated_posterior(csr_array(P), [0.5, 0.6]),
        lambda: questions(y=S, n=10, scores=P[:, :2]),
        lambda: out_of_fold(X, S, RandomForestClassifier()),
    ):
        with refused(ValueError):
            use()
    for use in (lambda P: estimate_c(y=S, scores=P), to_probabilities := calibrate(S, scores=P, c=0.5)):
        for wrong in (P * 3 - 1, P * np.nan):
            with refused(ValueError):
                use(wrong)
    np.testing.assert_array_equal(to_probabilities(csr_array(P)), to_probabilities(P))


def test_missing_labels_are_as_many_as_c_says(scored):
    _, Y, S, P = scored
    c = S.sum() / Y.sum()
    raw = np.where(S, 0, unannotated_posterior(P, c)).sum()
    missing = missing_labels(S, scores=P, c=c)
    truly = Y.sum() - S.sum()
    assert missing.probabilities.sum() == pytest.approx(truly, rel=0.1)
    assert raw < 0.8 * truly  # scores are of being annotated, not of being true
    assert not S[missing.rows, missing.columns].any()
    best = missing_labels(S, scores=P, c=c, top=truly)
    np.testing.assert_array_equal(best.rows, missing.rows[:truly])
    assert Y[best.rows, best.columns].mean() > 0.9
    seen = np.zeros(S.shape)
    seen[best.rows[0], best.columns[0]] = -1
    left = missing_labels(S, scores=P, c=c, top=5, reviewed=seen)
    assert (best.rows[0], best.columns[0]) not in zip(left.rows.tolist(), left.columns.tolist(), strict=True)


class NAType:
    """As pandas.NA is: it equals nothing, and has no truth value."""

    def __eq__(self, other):
        return self

    __ne__, __hash__ = __eq__, object.__hash__

    def __bool__(self):
        raise TypeError("boolean value of NA is ambiguous")


def forms_of_unknown(S, unknown):
    holes = np.where(unknown, np.nan, S)
    objects = S.astype(object)
    objects[unknown] = NAType()
    return [holes, csr_array(holes), np.ma.masked_array(S, unknown), objects, holes.tolist()]


@pytest.mark.slow
def test_what_is_not_known_is_ignored(scored):
    X, _, S, P = scored
    unknown = np.random.default_rng(0).random(S.shape) < 0.1
    S = np.where(unknown, 0, S)
    model = MPUClassifier(levels=1, C=10.0, epochs=3, folds=2, c=0.5)
    p = model.fit(X, S, ignored=unknown.astype(int)).predict_proba(X)
    assert not np.array_equal(p, model.fit(X, S).predict_proba(X))
    best = choose_thresholds(P, S, 0.5, ignored=unknown.astype(int))
    for form in forms_of_unknown(S, unknown):
        np.testing.assert_array_equal(model.fit(X, form).predict_proba(X), p)
        np.testing.assert_array_equal(choose_thresholds(P, form, 0.5).thresholds, best.thresholds)
        missing = missing_labels(form, scores=P, c=0.5)
        assert not unknown[missing.rows, missing.columns].any()
    more = np.zeros(S.shape, int)
    more[:5] = 1
    both = unknown | (more > 0)
    p = model.fit(X, S, ignored=both.astype(int)).predict_proba(X)
    np.testing.assert_array_equal(model.fit(X, forms_of_unknown(S, unknown)[0], ignored=more).predict_proba(X), p)
