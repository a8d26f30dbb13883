"""Forms in which people have labels, scores and label frequencies."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.tree import DecisionTreeClassifier

from mpu_cli import (
    IncompleteLabelClassifier,
    MPUClassifier,
    calibrate,
    choose_thresholds,
    corrected_metrics,
    estimate_c,
    incomplete_f1_scorer,
    missing_labels,
    questions,
    ranking_metrics,
    unannotated_posterior,
)
from tests.golden import refused

QUICK = {"levels": 1, "C": 10.0, "features": "linear"}
NAMES = ["arts", "film", "news"]


@pytest.fixture(scope="module")
def model(halved):
    return MPUClassifier(**QUICK, c=0.5).fit(halved[0], halved[2])


def sets_of(S, names):
    return [[names[k] for k in np.flatnonzero(row)] for row in S]


@pytest.mark.parametrize("names", [NAMES, np.array(NAMES), [3, 10, 12], np.array([3, 10, 12])])
def test_label_sets_are_of_texts_or_numbers(halved, model, names):
    X, _, S = halved
    given = sets_of(S, names)
    learned = MPUClassifier(**QUICK, c=0.5).fit(X, given)
    assert learned.classes_.tolist() == list(names)
    assert {type(name) for name in learned.classes_.tolist()} <= {str, int}
    np.testing.assert_array_equal(learned.predict_proba(X), model.predict_proba(X))
    assert learned.score(X, given) == model.score(X, S)


@pytest.mark.parametrize(("yes", "no"), [(1, -1), (2, 0), ("yes", "no"), ("positive", "unlabeled")])
def test_the_positive_value_is_a_parameter(halved, model, yes, no):
    X, _, S = halved
    y = np.where(S, yes, no)
    learned = MPUClassifier(**QUICK, c=0.5, pos_label=yes).fit(X, y)
    np.testing.assert_array_equal(learned.predict_proba(X), model.predict_proba(X))
    assert learned.score(X, y) == model.score(X, S)
    assert MPUClassifier(**QUICK, c=0.5, pos_label=yes).fit(X, y[:, 0]).classes_.tolist() == [no, yes]
    with refused(ValueError):
        MPUClassifier(**QUICK).fit(X, y)
    with refused(ValueError, "pos_label is 7, which y does not contain"):
        MPUClassifier(**QUICK, pos_label=7).fit(X, y)


def test_masks_of_other_arguments_than_y_are_refused(halved):
    X, Y, S = halved
    masked = np.ma.masked_array(Y, X > 1)
    for given in {"reviewed": masked}, {"ignored": masked}, {"sampled": masked}, {"fully_labelled": masked[:, 0]}:
        with refused(ValueError, "has masked cells"):
            MPUClassifier(**QUICK).fit(X, S, **given)


def test_which_class_is_positive_is_asked_for(halved):
    X, _, S = halved
    y = np.where(S[:, 0], "positive", "unlabeled")
    for wrong in ({}, {"pos_label": "labeled"}):
        with refused(ValueError):
            MPUClassifier(**QUICK, **wrong).fit(X, y)
    with refused(ValueError):
        MPUClassifier(**QUICK, pos_label="b").fit(X, np.array(["a", "b", "c"])[np.arange(len(X)) % 3])
    named = np.where(S[:, 0], "university", "other")
    assert MPUClassifier(**QUICK, c=0.5).fit(X, named).classes_.tolist() == ["other", "university"]
    assert IncompleteLabelClassifier(LogisticRegression(), pos_label="positive").fit(X, y).classes_[1] == "positive"


def test_unknown_cells_of_the_truth_do_not_count(halved, model):
    X, Y, _ = halved
    unknown = np.random.default_rng(0).random(Y.shape) < 0.2
    unknown[:5] = True
    truth = np.where(unknown, np.nan, Y)
    predicted, scores = model.predict(X), model.predict_proba(X)
    hits, positives = (predicted & Y)[~unknown].sum(), predicted[~unknown].sum() + Y[~unknown].sum()
    assert model.score(X, truth) == incomplete_f1_scorer(1.0)(model, X, truth) == pytest.approx(2 * hits / positives)
    assert corrected_metrics(Y, predicted, 0.5, ignored=unknown) == corrected_metrics(truth, predicted, 0.5)
    found = ranking_metrics(truth, scores, propensities=[0.5] * 3)
    assert found == ranking_metrics(Y, scores, propensities=[0.5] * 3, ignored=unknown)
    seen = np.flatnonzero(~unknown.all(axis=1))
    best = np.where(unknown, -1, scores)[seen].argmax(axis=1)
    assert found["precision_at_1"] == pytest.approx(Y[seen, best].mean())


def test_sparse_scores_are_taken_everywhere(halved):
    X, _, S = halved
    scores = np.where(MPUClassifier(**QUICK, c=1.0).fit(X, S).predict_proba(X) > 0.2, 0.7, 0).astype(np.float32)
    sparse = csr_array(scores)
    for of in (
        lambda P: estimate_c(y=S, scores=P).c,
        lambda P: calibrate(S, scores=P, c=0.5)(np.array([0.1, 0.9])).tolist(),
        lambda P: missing_labels(S, scores=P, c=0.5, top=9).rows.tolist(),
        lambda P: questions(y=S, scores=P, n=9).rows.tolist(),
        lambda P: choose_thresholds(P, S, 0.5).thresholds.tolist(),
    ):
        assert of(sparse) == of(scores)
    for c in (0.5, [0.5, 0.6, 0.7]):
        np.testing.assert_array_equal(unannotated_posterior(sparse, c).toarray(), unannotated_posterior(scores, c))


def test_c_of_some_labels_is_estimated_and_of_others_given(halved):
    X, _, S = halved
    by_number = MPUClassifier(**QUICK, c=[0.6, np.nan, 0.45]).fit(X, S)
    assert by_number.c_[[0, 2]].tolist() == [0.6, 0.45]
    assert by_number.c_[1] == MPUClassifier(**QUICK).fit(X, S).c_[1]
    by_name = MPUClassifier(**QUICK, c={"arts": 0.6, "news": 0.45}).fit(X, sets_of(S, NAMES))
    assert by_name.c_.tolist() == by_number.c_.tolist()
    other = IncompleteLabelClassifier(LogisticRegression(), c={"film": 0.6}).fit(X, sets_of(S, NAMES))
    assert other.c_[1] == 0.6
    assert 0.3 < other.c_[0] == other.c_[2]


@pytest.mark.parametrize(
    "classifier",
    [
        ClassifierChain(LogisticRegression()),
        MultiOutputClassifier(LogisticRegression()),
        VotingClassifier(
            [(str(k), DecisionTreeClassifier(min_samples_leaf=20, max_features=1, random_state=k)) for k in range(5)]
        ),
    ],
)
@pytest.mark.parametrize("unknown", [0, 1])
def test_classifiers_of_all_labels_and_by_votes(halved, classifier, unknown):
    X, Y, S = halved
    known = S.astype(float)
    known[:unknown] = np.nan  # then each label has a copy of the classifier
    assert IncompleteLabelClassifier(classifier, c=0.5, folds=2).fit(X, known).score(X, Y) > 0.8
    of_one = IncompleteLabelClassifier(classifier, c=0.5, folds=2).fit(X, S[:, 0])
    assert (of_one.predict(X) == Y[:, 0]).mean() > 0.8


MODELS = [
    lambda: MPUClassifier(levels=1, c=0.5, C=10.0, epochs=3, folds=2),
    lambda: IncompleteLabelClassifier(LogisticRegression(), c=0.5, folds=2),
]


class Frame:
    """What pandas and polars have in common: named columns that are chosen by a list."""

    def __init__(self, values, columns=NAMES, index=None):
        self._values, self.columns, self.index = np.asarray(values), columns, index
        self.shape = self._values.shape

    def __array__(self, dtype=None, copy=None):
        return self._values.astype(dtype)

    def __len__(self):
        return len(self._values)

    def __getitem__(self, names):
        return Frame(self._values[:, [self.columns.index(name) for name in names]], list(names), self.index)

    @property
    def T(self):  # noqa: N802
        return Frame(self._values.T, self.index, self.columns)


def turned(values):
    """A frame of the same values, with its columns in another order."""
    return Frame(values, index=getattr(values, "index", None))[["news", "arts", "film"]]


@pytest.mark.parametrize("made", MODELS)
def test_what_is_verified(made, halved):
    X, Y, S = halved
    reviewed = np.where(np.arange(600)[:, None] < 400, np.where(Y, 1, -1), 0)
    ignored = np.arange(1800).reshape(600, 3) % 7 == 0
    asked = {"sampled": np.where(reviewed, 0.5, 0.0)}
    for verified in ({"reviewed": reviewed}, {"ignored": ignored.astype(int)}, {"reviewed": reviewed, **asked}):
        expected = made().fit(X, Frame(S), **verified).predict_proba(X)
        others = {name: turned(values) for name, values in verified.items()}
        np.testing.assert_array_equal(made().fit(X, Frame(S), **others).predict_proba(X), expected)
    by_name = made().fit(X, [[NAMES[k] for k in row.nonzero()[0]] for row in S], reviewed=turned(reviewed))
    plain = made().fit(X, S.astype(object), reviewed=Frame(reviewed, range(3)))
    np.testing.assert_array_equal(by_name.predict_proba(X), plain.predict_proba(X))


def test_label_features_by_the_names_of_labels_and_features(halved):
    X, _, S = halved
    given, vectors = Frame(X), Frame(np.arange(9.0).reshape(3, 3), index=["x", "y", "z"])
    one_each = np.array(["x", "y", "z"])[np.arange(600) % 3]
    for y in (Frame(S, ["x", "y", "z"]), one_each):
        model = MPUClassifier(**QUICK, c=0.5, prior=15.0)
        p = model.fit(given, y, label_features=vectors).predict_proba(X)
        for features in turned(vectors), vectors.T[["z", "x", "y"]].T:
            np.testing.assert_array_equal(model.fit(given, y, label_features=features).predict_proba(X), p)
    for other in (Frame(vectors, index=["x", "y", "v"]), Frame(vectors, ["arts", "film", "sport"])):
        with refused(ValueError, "label_features"):
            model.fit(given, Frame(S, ["x", "y", "z"]), label_features=other)


class Series:
    """What a series of pandas is: values whose names are its index."""

    def __init__(self, index=("news", "arts", "film"), values=(0.9, 0.6, 0.7)):
        self.index, self._values = index, np.array(values)
        self.shape = self._values.shape

    def __array__(self, dtype=None, copy=None):
        return self._values.astype(dtype)

    def __getitem__(self, names):
        return self._values[[self.index.index(name) for name in names]]


@pytest.mark.parametrize("made", MODELS)
def test_label_frequencies_of_a_series(made, halved):
    X, _, S = halved
    c = [0.6, 0.7, 0.9]
    model = made().set_params(c=Series()).fit(X, Frame(S))
    assert model.c_.tolist() == c
    assert incomplete_f1_scorer(c)(model, X, S) == corrected_metrics(S, model.predict(X), c)["micro_f1"]
    assert corrected_metrics(Frame(S), S, Series()) == corrected_metrics(S, S, c)
    assert ranking_metrics(Frame(S), S, c=Series(), propensities=Series()) == ranking_metrics(S, S, c=c, propensities=c)
    np.testing.assert_array_equal(unannotated_posterior(Frame(S * 0.5), Series()), unannotated_posterior(S * 0.5, c))
    p = calibrate(Frame(S), scores=S * 0.5, c=Series())(S * 0.5)
    np.testing.assert_array_equal(p, calibrate(S, scores=S * 0.5, c=c)(S * 0.5))


@pytest.mark.parametrize("made", MODELS)
def test_the_labels_of_a_score(made, halved):
    X, Y, S = halved
    model = made().fit(X, Frame(S))
    assert model.score(X, turned(Y)) == model.score(X, Y) == incomplete_f1_scorer(1.0)(model, X, turned(Y))
    unknown = np.where(np.arange(1800).reshape(600, 3) == 0, np.nan, S)
    assert made().fit(X, Frame(unknown)).classes_.tolist() == NAMES
    assert made().fit(X, S).score(X, turned(Y)) == model.score(X, np.asarray(turned(Y)))  # the model has no names


def test_functions(halved):
    _, Y, S = halved
    P = np.clip(Y * 0.6 + np.random.default_rng(1).random(Y.shape) * 0.3, 0, 1)
    reviewed = np.where(np.arange(600)[:, None] < 50, np.where(Y, 1, -1), 0)
    for of in (
        lambda P, reviewed: calibrate(Frame(S), scores=P, c=0.5, reviewed=reviewed)(np.linspace(0, 1, 9)),
        lambda P, reviewed: missing_labels(Frame(S), scores=P, c=0.5, reviewed=reviewed).columns,
        lambda P, reviewed: choose_thresholds(P, Frame(S), 0.5, "per-label", reviewed=reviewed).thresholds,
    ):
        np.testing.assert_array_equal(of(turned(P), turned(reviewed)), of(P, reviewed))
    assert corrected_metrics(Frame(S), turned(Y), 0.5) == corrected_metrics(S, Y, 0.5)
    assert ranking_metrics(Frame(S), turned(P)) == ranking_metrics(S, P)


@pytest.mark.parametrize("made", [np.asarray, lambda S: Frame(S, range(3))])
def test_classes_name_the_columns_of_what_has_no_names(halved, made):
    X, Y, S = halved
    verified = {"reviewed": np.where(X > 1, 0, np.where(Y, 1, -1)), "sampled": np.ones(Y.shape), "ignored": X > 1}
    others = {name: turned(values) for name, values in verified.items()}
    models = [MPUClassifier(**QUICK, classes=NAMES).fit(X, made(S), **given) for given in (verified, others)]
    np.testing.assert_array_equal(models[0].predict_proba(X), models[1].predict_proba(X))


def test_numbers_of_columns_in_another_order_are_names(halved):
    X, Y, S = halved
    order, c = [2, 0, 1], [0.6, 0.7, 0.9]
    moved, plain, series = Frame(Y[:, order], order), Frame(Y, range(3)), Series(order, [0.9, 0.6, 0.7])
    models = [MPUClassifier(**QUICK, c=rates).fit(X, S, reviewed=Z) for rates, Z in ((c, Y), (series, moved))]
    np.testing.assert_array_equal(models[0].predict_proba(X), models[1].predict_proba(X))
    assert models[1].score(X, moved) == models[1].score(X, Y)
    assert corrected_metrics(moved, plain, 1.0)["micro_f1"] == corrected_metrics(plain, moved, 1.0)["micro_f1"] == 1
    assert corrected_metrics(moved, Y[:, order], series) == corrected_metrics(Y, Y, c)


@pytest.mark.parametrize("columns", [["arts", "film", "sport"], ["arts", "news", "news"]])
@pytest.mark.parametrize("made", MODELS)
def test_other_columns_are_refused(made, halved, columns):
    X, Y, S = halved
    with pytest.raises(ValueError, match="reviewed and y differ in their columns"):
        made().fit(X, Frame(S), reviewed=Frame(np.where(Y, 1, -1), columns))
    with pytest.raises(ValueError, match="y and the classes differ in their columns"):
        made().fit(X, Frame(S)).score(X, Frame(Y, columns))
