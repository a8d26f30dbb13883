"""`IncompleteLabelClassifier`: any classifier on incomplete labels."""

import numpy as np
import pytest
from joblib import parallel_config
from scipy.sparse import csr_array
from scipy.special import expit
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import cross_val_predict
from sklearn.multiclass import OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from mpu_cli import IncompleteLabelClassifier, c_from_review, estimate_c, missing_labels
from mpu_cli.api.any_classifier import fit_copies, values
from mpu_cli.api.estimator import MPUClassifier
from mpu_cli.core.validation import deal, without
from mpu_cli.errors import MpuWarning
from tests.api.test_estimator_conventions import keep
from tests.api.test_questions import arrays
from tests.golden import refused
from tests.slow import slow

pytestmark = pytest.mark.filterwarnings("ignore::mpu_cli.MpuWarning")  # the data of the checks are noise

TREE = DecisionTreeClassifier(min_samples_leaf=2, random_state=0)
FOREST = RandomForestClassifier(30, min_samples_leaf=5, random_state=0)
OTHERS = LogisticRegression(), LinearSVC(), KNeighborsClassifier(20)


@pytest.mark.slow
@parametrize_with_checks(  # a tree has no decision function
    [IncompleteLabelClassifier(by, c=1.0, threshold=0.5, folds=2) for by in (LogisticRegression(), TREE)]
)
def test_keeps_the_conventions_of_scikit_learn(estimator, check, monkeypatch):
    keep(estimator, check, monkeypatch)


@pytest.mark.parametrize("estimator", [*slow(FOREST), *OTHERS], ids=lambda estimator: type(estimator).__name__)
def test_any_classifier_learns_what_is_true(halved, estimator):
    X, Y, S = halved
    unseen = np.random.default_rng(2).random((900, 3)) < 0.3
    new = unseen + np.random.default_rng(3).normal(scale=0.3, size=unseen.shape)
    model = IncompleteLabelClassifier(estimator).fit(X, np.insert(S, 3, 0, axis=1))
    assert model.c_ == pytest.approx(S.sum() / Y.sum(), abs=0.08)
    reached = f1_score(unseen, model.predict(new)[:, :3], average="micro")
    on_complete = OneVsRestClassifier(clone(estimator)).fit(X, Y).predict(new)
    assert reached > f1_score(unseen, on_complete, average="micro") - 0.05
    assert model.expected_f1_ == pytest.approx(reached, abs=0.06)
    assert model.predict_proba(new)[:, :3].mean() == pytest.approx(unseen.mean(), abs=0.04)
    assert not model.predict_proba(new)[:, 3].any()
    missing = model.missing_labels(top=200)
    assert Y[missing.rows, missing.columns].mean() > 0.9
    assert not S[missing.rows, missing.columns].any()
    assert len(model.questions(20)) == 20


@pytest.mark.parametrize("estimator", [LogisticRegression(), LinearSVC()], ids=str)
def test_scores_are_those_of_scikit_learn_out_of_fold(halved, estimator):
    X, _, S = halved
    X = csr_array(X)
    folds = [(without(rows, len(S)), rows) for rows in deal(len(S), 5, seed=3)]
    decisions = cross_val_predict(OneVsRestClassifier(estimator), X, S, cv=folds, method="decision_function")
    model = IncompleteLabelClassifier(estimator, random_state=3).fit(X, S)
    np.testing.assert_allclose(model.out_of_fold_scores_, expit(decisions), rtol=1e-5)


class Large(LinearSVC):
    """With decision values whose logistic function is 0 or 1 in float32."""

    def decision_function(self, X):
        return 1e4 * super().decision_function(X)


def test_large_decision_values_keep_their_order(halved):
    X, _, S = halved
    plain, large = (IncompleteLabelClassifier(of).fit(X, S) for of in (LinearSVC(), Large()))
    assert spearmanr(large.out_of_fold_scores_, plain.out_of_fold_scores_, axis=None).statistic > 0.9999
    new = X + np.random.default_rng(5).normal(scale=0.2, size=X.shape)
    np.testing.assert_allclose(large.predict_proba(new), plain.predict_proba(new), atol=0.02)


def test_one_extreme_decision_value_leaves_the_others_apart(halved):
    X, _, S = halved

    class Extreme(LinearSVC):
        def decision_function(self, X):
            found = super().decision_function(X)
            return np.where(np.arange(len(found)) == 0, 1e9, found)

    plain, extreme = (IncompleteLabelClassifier(of).fit(X, S).out_of_fold_scores_ for of in (LinearSVC(), Extreme()))
    usual = (extreme < 0.9999).all(axis=1)
    assert len(np.unique(extreme[usual])) > 0.9 * extreme[usual].size
    assert spearmanr(extreme[usual], plain[usual], axis=None).statistic > 0.99


def test_an_estimator_that_only_predicts_labels_is_warned_of_unless_those_of_its_labels_do_more(halved):
    X, _, S = halved
    one, several = (IncompleteLabelClassifier(by).fit(X, S) for by in (LinearSVC(), MultiOutputClassifier(LinearSVC())))
    np.testing.assert_array_equal(several.predict_proba(X), one.predict_proba(X))
    with pytest.warns(MpuWarning, match="OutputCodeClassifier has neither predict_proba nor decision_function"):
        IncompleteLabelClassifier(OutputCodeClassifier(TREE)).fit(X, S)


def test_verdicts_teach_and_are_not_listed_as_missing(halved):
    X, Y, S = halved
    reviewed = np.where(np.arange(len(Y))[:, None] < 300, np.where(Y, 1, -1), 0)
    model = IncompleteLabelClassifier(LogisticRegression()).fit(X, S, reviewed=reviewed)
    assert model.missing_labels(top=100).rows.min() >= 300
    naive = IncompleteLabelClassifier(LogisticRegression()).fit(X, S)
    assert (model.out_of_fold_scores_ - naive.out_of_fold_scores_)[:300][Y[:300]].mean() > 0.1


def test_expected_f1_is_honest_where_features_tell_little():
    rng = np.random.default_rng(3)
    Y = rng.random((3000, 3)) < 0.4
    X = Y @ rng.normal(size=(3, 30)) + rng.normal(scale=2.0, size=(3000, 30))
    S = (Y & (rng.random(Y.shape) < 0.3)).astype(int)
    by = make_pipeline(StandardScaler(), LogisticRegression())
    model = IncompleteLabelClassifier(by, c=0.3).fit(X[:1000], S[:1000])
    reached = f1_score(Y[1000:], model.predict(X[1000:]), average="micro")
    assert model.expected_f1_ == pytest.approx(reached, abs=0.06)
    assert isinstance(found := model.expected_f1_interval_, list) and found[0] < model.expected_f1_ < found[1]


def test_threads_change_nothing(halved):
    X, _, S = halved
    with parallel_config("threading"):
        model = IncompleteLabelClassifier(TREE, n_jobs=2).fit(X, S)
    alone = IncompleteLabelClassifier(TREE).fit(X, S)
    np.testing.assert_array_equal(alone.out_of_fold_scores_, model.out_of_fold_scores_)


def test_people_tell_c(halved):
    X, Y, S = halved
    drawn_at_random = np.arange(len(Y)) % 5 == 0
    reviewed = np.where(drawn_at_random[:, None], np.where(Y, 1, -1), 0)
    model = IncompleteLabelClassifier(LogisticRegression()).fit(X, S, reviewed=reviewed, sampled=drawn_at_random)
    given = c_from_review(S, reviewed, drawn_at_random, scores=model.out_of_fold_scores_)
    assert model.c_.tolist() == given.rates.tolist()
    asked = model.questions(60)
    assert not drawn_at_random[asked.rows].any()
    answered = IncompleteLabelClassifier(LogisticRegression()).fit(X, S, **arrays(asked, Y))
    assert answered.c_[0] == pytest.approx(0.5, abs=0.12)


def test_missing_labels_without_c_know_that_it_is_estimated():
    rng = np.random.default_rng(0)
    Y = rng.random((600, 4)) < 0.5
    X = Y + rng.normal(scale=0.1, size=Y.shape)
    S = Y & (rng.random(Y.shape) < 0.7) & (rng.random((600, 1)) < 0.7)
    with pytest.warns(MpuWarning, match="nobody has looked"):
        model = IncompleteLabelClassifier(LogisticRegression()).fit(X, S)
        found = missing_labels(S, scores=model.out_of_fold_scores_)
    with pytest.warns(MpuWarning, match="nobody has looked"):
        estimate_c(X, S, features="linear")
    for name, expected in vars(model.missing_labels()).items():
        np.testing.assert_array_equal(getattr(found, name), expected)
    assert found.probabilities[0] < missing_labels(S, scores=model.out_of_fold_scores_, c=model.c_).probabilities[0]


def test_groups_have_their_own_c():
    rng = np.random.default_rng(1)
    Y = rng.random((3000, 3)) < 0.3
    X, groups = Y + rng.normal(scale=0.3, size=Y.shape), np.repeat(["poor", "rich"], 1500)
    S = Y & (np.random.default_rng(3).random(Y.shape) < np.where(groups == "poor", 0.3, 0.8)[:, None])
    model = IncompleteLabelClassifier(LogisticRegression()).fit(X, S, groups=groups)
    assert model.group_c_ == pytest.approx({"poor": 0.3, "rich": 0.8}, abs=0.06)
    assert 0.7 < model.missing_labels().probabilities.sum() / (Y & ~S).sum() < 1.1
    capped = np.where((groups == "poor")[:, None], Y & (Y.cumsum(axis=1) == 1), S)  # one label of each instance
    with pytest.warns(MpuWarning, match="c of group poor cannot be estimated"):
        IncompleteLabelClassifier(LogisticRegression()).fit(X, capped, groups=groups)
    for wrong in (groups[1:], [np.nan, None, *groups[2:]]):
        with refused(ValueError):
            IncompleteLabelClassifier(LogisticRegression()).fit(X, S, groups=wrong)


def test_trainings_of_folds_do_not_warn(halved):
    X, _, S = halved
    with pytest.warns(MpuWarning, match="only 9 instances") as found:
        IncompleteLabelClassifier(MPUClassifier(levels=1)).fit(X[:9], S[:9])
    assert not [one for one in found if "only 7 instances" in str(one.message)]


def test_what_cannot_be_is_said(halved):
    X, _, S = halved
    for wrong in {"estimator": LinearRegression()}, {"estimator": None}, {"estimator": TREE, "folds": 1}:
        with refused(ValueError):
            IncompleteLabelClassifier(**wrong).fit(X, S)
    with refused(ValueError):
        missing_labels(S, scores=np.full(S.shape, 0.5), c=0.5, top=-1)


def test_a_classifier_of_all_labels_does_not_learn_unknown_cells():
    """A forest took them for false: a label that is true half of the time was predicted with .16 where it is true."""
    rng = np.random.default_rng(0)
    Y = rng.random((600, 3)) < [0.5, 0.3, 0.3]
    X = Y @ rng.normal(size=(3, 10)) + 0.3 * rng.normal(size=(600, 10))
    S = Y.astype(float)
    S[100:, 0] = np.nan
    forest = clone(FOREST).set_params(n_estimators=10)
    model = IncompleteLabelClassifier(forest, c=1.0, folds=2).fit(X, S)
    assert model.predict_proba(X)[100:, 0][Y[100:, 0]].mean() > 0.7
    alone = clone(forest).fit(X[:100], Y[:100, 0])
    np.testing.assert_array_equal(model.estimators_[0].predict_proba(X), alone.predict_proba(X))
    ignored = np.isnan(S).astype(int)
    same = IncompleteLabelClassifier(forest, c=1.0, folds=2).fit(X, Y.astype(int) * (1 - ignored), ignored=ignored)
    np.testing.assert_array_equal(same.predict_proba(X), model.predict_proba(X))


def test_texts_and_names():
    tags = [["cats"], ["dogs"], [], ["cats", "dogs"]] * 40
    texts = [" ".join([*row, "and", "others"]) for row in tags]
    model = IncompleteLabelClassifier(make_pipeline(TfidfVectorizer(), LogisticRegression()), c=1.0).fit(texts, tags)
    assert model.predict_labels(["dogs", "others", "cats and dogs"]) == [("dogs",), (), ("cats", "dogs")]
    assert model.score(texts, tags) == 1


@pytest.mark.parametrize(("target", "score"), [(1, 1), (0, 0), (np.nan, 0)])
def test_a_label_with_one_known_value_has_that_score_and_an_unknown_one_none(target, score):
    """As in a fold whose training instances are all annotated, or all ignored."""
    learned = fit_copies(TREE, np.eye(3), np.full((3, 1), target))
    assert values(learned, np.eye(3), 1)[0].tolist() == [[score]] * 3
