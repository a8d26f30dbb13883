"""Frames of labels go by the names of their columns, in whatever order these are."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from mpu_cli import (
    IncompleteLabelClassifier,
    MPUClassifier,
    calibrate,
    choose_thresholds,
    corrected_metrics,
    missing_labels,
    ranking_metrics,
)

NAMES = ["arts", "music", "news"]
MODELS = [
    lambda: MPUClassifier(levels=1, c=0.5, C=10.0, epochs=3, folds=2),
    lambda: IncompleteLabelClassifier(LogisticRegression(), c=0.5, folds=2),
]


class Frame:
    """What pandas and polars have in common: named columns that are chosen by a list."""

    def __init__(self, values, columns=NAMES):
        self._values, self.columns = np.asarray(values), columns
        self.shape = self._values.shape

    def __array__(self, dtype=None, copy=None):
        return self._values.astype(dtype)

    def __len__(self):
        return len(self._values)

    def __getitem__(self, names):
        return Frame(self._values[:, [self.columns.index(name) for name in names]], list(names))


def turned(values):
    """A frame of the same values, with its columns in another order."""
    return Frame(values)[["news", "arts", "music"]]


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
    np.testing.assert_array_equal(
        by_name.predict_proba(X), made().fit(X, S, reviewed=Frame(reviewed, range(3))).predict_proba(X)
    )


@pytest.mark.parametrize("made", MODELS)
def test_the_labels_of_a_score(made, halved):
    X, Y, S = halved
    model = made().fit(X, Frame(S))
    assert model.score(X, turned(Y)) == model.score(X, Y)
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


@pytest.mark.parametrize("columns", [["arts", "music", "film"], ["arts", "news", "news"]])
@pytest.mark.parametrize("made", MODELS)
def test_other_columns_are_refused(made, halved, columns):
    X, Y, S = halved
    with pytest.raises(ValueError, match="reviewed and y differ in their columns"):
        made().fit(X, Frame(S), reviewed=Frame(np.where(Y, 1, -1), columns))
    with pytest.raises(ValueError, match="y and the classes differ in their columns"):
        made().fit(X, Frame(S)).score(X, Frame(Y, columns))
