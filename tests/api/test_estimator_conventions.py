"""`MPUClassifier` keeps the conventions of scikit-learn."""

import re
from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse
from scipy.stats import spearmanr
from sklearn.utils import estimator_checks
from sklearn.utils._testing import assert_allclose_dense_sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

from mpu_cli import MPUClassifier, load

pytestmark = pytest.mark.filterwarnings("ignore::mpu_cli.MpuWarning")  # the data of the checks are noise


@parametrize_with_checks([MPUClassifier(c=1.0, C=10.0, epochs=5, levels=1, threshold=0.5, features="linear")])
def test_keeps_the_conventions_of_scikit_learn_where_little_is_chosen(estimator, check, monkeypatch):
    keep(estimator, check, monkeypatch)


@pytest.mark.slow
@parametrize_with_checks([MPUClassifier()])
def test_keeps_the_conventions_of_scikit_learn_by_default(estimator, check, monkeypatch):
    keep(estimator, check, monkeypatch)


def keep(estimator, check, monkeypatch) -> None:
    of_thresholds = "check_classifier_multioutput", "check_classifiers_train"
    if estimator.threshold != 0.5 and check.func.__name__ in of_thresholds:
        pytest.skip("labels are expected to be predicted from 0.5 on; chosen thresholds agree by chance only")
    # One of its comparisons asks for the precision of 64-bit numbers, whatever is compared. The others ask for this of
    # 32-bit numbers, which are rounded in another way where instances come in another order.
    in_single_precision = partial(assert_allclose_dense_sparse, rtol=1e-4)
    monkeypatch.setattr(estimator_checks, "assert_allclose_dense_sparse", in_single_precision)
    check(estimator)


QUICK = {"levels": 1, "C": 30.0, "epochs": 3, "c": 0.5}


def test_of_one_class_each_the_column_is_saved_and_ranked(halved, tmp_path):
    X, _, S = halved
    model = MPUClassifier(**QUICK).fit(X, np.where(S[:, 0], "yes", "not annotated"))
    column = MPUClassifier(**QUICK).fit(X, S[:, :1])
    assert model.coef_.shape == (1, 3)
    top = model.predict_top(X, 1)
    assert (model.classes_[top.indices] == model.classes_[model.predict_proba(X).argmax(axis=1)]).all()
    model.save(tmp_path / "one.mpu")
    loaded = load(tmp_path / "one.mpu")
    assert loaded.classes_.tolist() == ["yes"]
    np.testing.assert_array_equal(loaded.predict_proba(X), column.predict_proba(X))
    three = MPUClassifier(levels=1, C=30.0).fit(X, np.array(["a", "b", "c"])[X.argmax(axis=1)])
    three.save(tmp_path / "three.mpu")
    np.testing.assert_array_equal(load(tmp_path / "three.mpu").predict(X), three.predict(X))


@pytest.mark.parametrize(("to", "more"), [(np.asarray, 2), (csr_array, 9)])
def test_coefficients_are_those_of_the_first_level(halved, to, more):
    X, _, S = halved
    wide = to(np.hstack([X, np.zeros((len(X), more))]))  # features that do not occur have no weights
    model = MPUClassifier(**QUICK).fit(wide, S * [1, 1, 0])
    assert (model.coef_.shape, issparse(model.coef_)) == ((3, 3 + more), more == 9)
    scores = csr_array(wide @ model.coef_.T).toarray() + model.intercept_
    assert spearmanr(scores[:, 0], model.predict_proba(wide)[:, 0]).statistic > 0.999
    assert not csr_array(model.coef_)[[2]].nnz
    assert model.intercept_[2] == -np.inf


def test_verbose_says_each_step(halved, capsys):
    X, _, S = halved
    MPUClassifier(**QUICK).fit(X, S)
    assert capsys.readouterr().out == ""
    MPUClassifier(**QUICK, verbose=1).fit(X, S)
    assert re.search(r"^\[mpu\] learning level 0: \d+\.\d s$|^\[mpu\] .*: \d+\.\d s$", capsys.readouterr().out, re.M)


def test_a_kernel_model_has_no_coefficients(halved):
    X, _, S = halved
    assert not hasattr(MPUClassifier(C=1.0, c=1.0, features="rbf").fit(X[:100], S[:100]), "coef_")
