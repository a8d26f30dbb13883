"""What users of scikit-learn do, with both classifiers: the table of docs/guide/from-scikit-learn.md, row by row."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix, issparse
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, label_ranking_average_precision_score
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mpu_cli import IncompleteLabelClassifier, MPUClassifier, incomplete_f1_scorer
from tests.golden import refused

CLASSIFIERS = {
    "mpu": MPUClassifier(levels=1, C=30.0, epochs=3, c=0.5),
    "any": IncompleteLabelClassifier(LogisticRegression(), c=0.5),
}


@pytest.fixture(params=CLASSIFIERS.values(), ids=CLASSIFIERS.keys())
def model(request):
    return clone(request.param)


@pytest.fixture(scope="module")
def data():
    """Features, true labels, and annotated ones, of which half are missing."""
    rng = np.random.default_rng(1)
    Y = rng.random((600, 3)) < 0.3
    X = Y + rng.normal(scale=0.3, size=Y.shape)
    return X, Y, (Y & (rng.random(Y.shape) < 0.5)).astype(int)


def test_a_pipeline(model, data):
    X, Y, S = data
    pipeline = make_pipeline(StandardScaler(), model).fit(X * [1, 10, 100], S)
    assert f1_score(Y, pipeline.predict(X * [1, 10, 100]), average="micro") > 0.9
    assert pipeline.decision_function(X * [1, 10, 100]).shape == Y.shape


def test_a_grid_search(model, data):
    X, Y, S = data
    parameter = "C" if isinstance(model, MPUClassifier) else "estimator__C"
    search = GridSearchCV(model, {parameter: [1e-6, 10.0]}, scoring=incomplete_f1_scorer(0.5), cv=3).fit(X, S)
    assert search.best_params_ == {parameter: 10.0}
    assert search.best_score_ == pytest.approx(f1_score(Y, search.predict(X), average="micro"), abs=0.1)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_cross_val_predict(model, data, method):
    X, Y, S = data
    held_out = cross_val_predict(model, X, S, cv=3, method=method)
    assert held_out.shape == Y.shape
    assert label_ranking_average_precision_score(Y, held_out) > 0.9


def test_clones_and_pickles(model, data):
    X, _, S = data
    p = model.fit(X, S).predict_proba(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), p)
    again = clone(model)
    assert not hasattr(again, "classes_")
    np.testing.assert_array_equal(again.fit(X, S).predict_proba(X), p)


def test_data_frames(model, data):
    pd = pytest.importorskip("pandas")
    X, _, S = data
    frame, tags = pd.DataFrame(X, columns=list("abc")), pd.DataFrame(S, columns=["x", "y", "z"])
    p = model.fit(frame, tags).predict_proba(frame)
    assert (model.feature_names_in_.tolist(), model.classes_.tolist()) == (list("abc"), ["x", "y", "z"])
    np.testing.assert_array_equal(clone(model).fit(X, S).predict_proba(X), p)
    assert pd.DataFrame(p, index=frame.index, columns=model.classes_).shape == (600, 3)
    with refused(ValueError):
        model.predict(frame[["c", "b", "a"]])


def test_set_output_is_for_transformers(model, data):
    pytest.importorskip("pandas")
    X, _, S = data
    assert not hasattr(model, "set_output")
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), model).fit(X, S)
    assert pipeline[-1].feature_names_in_.tolist() == ["x0", "x1", "x2"]
    assert isinstance(pipeline.predict(X), np.ndarray)


@pytest.mark.parametrize("to", [csr_array, csr_matrix])
def test_sparse_arrays_and_matrices(model, data, to):
    X, _, S = data
    dense = clone(model).fit(X.astype(np.float32), S).predict_proba(X.astype(np.float32))
    p = model.fit(to(X.astype(np.float32)), to(S)).predict_proba(to(X.astype(np.float32)))
    np.testing.assert_allclose(p, dense, atol=1e-3)
    assert issparse(model.predict(to(X))) == isinstance(model, MPUClassifier)


def test_annotations_that_are_nan_are_unknown(model, data):
    X, _, S = data
    unknown = np.random.default_rng(0).random(S.shape) < 0.2
    ignored = clone(model).fit(X, S, ignored=unknown).predict_proba(X)
    np.testing.assert_array_equal(model.fit(X, np.where(unknown, np.nan, S)).predict_proba(X), ignored)


def test_features_that_are_nan(data):
    X, Y, S = data
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    with pytest.raises(ValueError, match="NaN"):
        clone(CLASSIFIERS["mpu"]).fit(holes, S)
    boosted = IncompleteLabelClassifier(HistGradientBoostingClassifier(max_iter=20), c=0.5).fit(holes, S)
    assert f1_score(Y, boosted.predict(holes), average="micro") > 0.8


def test_random_states(model, data):
    X, _, S = data

    def p(random_state):
        return clone(model).set_params(random_state=random_state).fit(X, S).predict_proba(X)

    np.testing.assert_array_equal(p(5), p(5))
    np.testing.assert_array_equal(p(np.random.RandomState(5)), p(np.random.RandomState(5)))
    assert (p(None) != p(None)).any()
