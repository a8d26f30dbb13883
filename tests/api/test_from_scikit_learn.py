"""What users of scikit-learn do, with both classifiers: the table of docs/guide/from-scikit-learn.md, row by row."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, label_ranking_average_precision_score
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mpu_cli import IncompleteLabelClassifier, MPUClassifier, MpuWarning, incomplete_f1_scorer
from tests.golden import refused

CLASSIFIERS = {
    "mpu": MPUClassifier(levels=1, C=30.0, epochs=3, c=0.5),
    "any": IncompleteLabelClassifier(LogisticRegression(), c=0.5, folds=2),
}


@pytest.fixture(params=CLASSIFIERS.values(), ids=CLASSIFIERS.keys())
def model(request):
    return clone(request.param)


def test_a_pipeline(model, halved):
    X, Y, S = halved
    pipeline = make_pipeline(StandardScaler(), model).fit(X * [1, 10, 100], S)
    assert f1_score(Y, pipeline.predict(X * [1, 10, 100]), average="micro") > 0.9
    with config_context(enable_metadata_routing=True):
        assert pipeline.score(X * [1, 10, 100], S) == pipeline[1].score(pipeline[0].transform(X * [1, 10, 100]), S)
    weights = np.arange(600) % 3
    expected = f1_score(S, pipeline.predict(X * [1, 10, 100]), average="micro", sample_weight=weights)
    assert pipeline.score(X * [1, 10, 100], S, sample_weight=weights) == pytest.approx(expected)
    np.testing.assert_array_equal(pipeline.decision_function(X * [1, 10, 100]) >= 0, pipeline.predict(X * [1, 10, 100]))


def test_a_grid_search(model, halved):
    X, Y, S = halved
    parameter = "C" if isinstance(model, MPUClassifier) else "estimator__C"
    search = GridSearchCV(model, {parameter: [1e-6, 10.0]}, scoring=incomplete_f1_scorer(0.5), cv=3).fit(X, S)
    assert search.best_params_ == {parameter: 10.0}
    assert search.best_score_ == pytest.approx(f1_score(Y, search.predict(X), average="micro"), abs=0.1)


def test_cross_val_predict(model, halved):
    X, Y, S = halved
    held_out = cross_val_predict(model, X, S, cv=3, method="predict_proba")
    assert held_out.shape == Y.shape
    assert label_ranking_average_precision_score(Y, held_out) > 0.9


def test_data_frames(model, halved):
    pd = pytest.importorskip("pandas")
    X, _, S = halved
    frame, tags = pd.DataFrame(X, columns=list("abc")), pd.DataFrame(S, columns=["x", "y", "z"])
    p = model.fit(frame, tags).predict_proba(frame)
    assert (model.feature_names_in_.tolist(), model.classes_.tolist()) == (list("abc"), ["x", "y", "z"])
    np.testing.assert_array_equal(clone(model).fit(X, S).predict_proba(X), p)
    assert pd.DataFrame(p, index=frame.index, columns=model.classes_).shape == (600, 3)
    with refused(ValueError):
        model.predict(frame[["c", "b", "a"]])


def test_one_class_each_of_two_is_true_or_unknown(model, halved):
    X, _, S = halved
    column = clone(model).fit(X, S[:, :1])
    expected = np.where(column.predict(X)[:, 0], "yes", "not annotated")
    model.fit(X, np.where(S[:, 0], "yes", "not annotated"))
    assert (model.classes_.tolist(), model.c_) == (["not annotated", "yes"], pytest.approx(column.c_))
    np.testing.assert_array_equal(model.predict(X), expected)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], column.predict_proba(X)[:, 0], rtol=1e-6)
    np.testing.assert_allclose(model.decision_function(X), column.decision_function(X)[:, 0], rtol=1e-5)
    assert model.predict_labels(X[:5]) == [(label,) for label in expected[:5]]
    assert model.score(X, expected) == 1


@pytest.mark.parametrize(
    "model",
    [
        MPUClassifier(features="rbf", levels=1, C=10.0),
        IncompleteLabelClassifier(RandomForestClassifier(10, random_state=0)),
    ],
)
def test_of_more_classes_each_instance_has_one(model):
    X, y = load_iris(return_X_y=True)
    model = clone(model).fit(X, y)
    assert model.c_.tolist() == [1, 1, 1]
    assert model.score(X, y) > 0.9
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1, rtol=1e-5)
    assert (model.classes_[model.decision_function(X).argmax(axis=1)] == model.predict(X)).all()


@pytest.mark.slow
def test_features_that_are_nan(halved):
    X, Y, S = halved
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    with pytest.raises(ValueError, match="NaN"):
        clone(CLASSIFIERS["mpu"]).fit(holes, S)
    boosted = IncompleteLabelClassifier(HistGradientBoostingClassifier(max_iter=20), c=0.5).fit(holes, S)
    assert f1_score(Y, boosted.predict(holes), average="micro") > 0.8


def test_a_failed_fit_leaves_the_model_as_it_was(model, halved):
    X, _, S = halved
    before = model.fit(X, S).predict_proba(X)
    with pytest.raises(ValueError, match="nothing to learn"):
        model.fit(np.tile(X, 10), S * 0)
    rng = np.random.default_rng(0)
    with pytest.raises(MpuWarning):  # as an error
        model.set_params(c="auto").fit(rng.normal(size=(600, 30)), rng.random(S.shape) < 0.3)
    assert (model.n_features_in_, model.c_.tolist()) == (3, [0.5] * 3)
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_random_states(model, halved):
    X, _, S = halved

    def p(random_state):
        return clone(model).set_params(random_state=random_state).fit(X, S).predict_proba(X)

    np.testing.assert_array_equal(p(5), p(5))
    np.testing.assert_array_equal(p(np.random.RandomState(5)), p(np.random.RandomState(5)))
    assert (p(None) != p(None)).any()
