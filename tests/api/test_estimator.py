"""`MPUClassifier` gives the models of `mpu train`, also of labels by name."""

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix, issparse
from sklearn.base import clone
from sklearn.datasets import load_svmlight_file
from sklearn.metrics import f1_score
from sklearn.preprocessing import MultiLabelBinarizer

from mpu_cli import MPUClassifier, load
from mpu_cli.api.arrays import as_csr
from mpu_cli.svmlight.reader import Dataset
from mpu_cli.svmlight.writer import write_instances
from tests.folders import contents, model_files
from tests.golden import refused
from tests.slow import slow

QUICK = {"c": 0.5, "C": 30, "epochs": 2, "levels": 1}
TOPICS = np.array(["the arts", "digital television", "2005", "=1+1"])


@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        *slow(((), {})),
        (
            ("--seed", 3, "--levels", 1, "--threshold", "per-label", "--features", "linear"),
            {"random_state": 3, "levels": 1, "threshold": "per-label", "features": "linear"},
        ),
        (
            ("--c", 0.5, "--cost", 10, "--epochs", 3, "--folds", 2, "--threshold", 1, "-j", 1),
            {"c": 0.5, "C": 10, "epochs": np.int64(3), "folds": 2, "threshold": 1, "n_jobs": 1},
        ),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_the_same_data_give_the_same_model_as_on_the_command_line(run, tmp_path, digits, options, parameters):
    source = tmp_path / "some.svm"
    source.write_bytes(b"".join(digits[0].read_bytes().splitlines(keepends=True)[:150]))
    run.ok("train", source, *options)
    X, label_sets = load_svmlight_file(str(source), multilabel=True, zero_based=True)
    binarizer = MultiLabelBinarizer(sparse_output=True)
    S, classes = binarizer.fit_transform(label_sets), binarizer.classes_
    model = MPUClassifier(**parameters, classes=classes).fit(X, S)
    model.save(tmp_path / "ours.mpu")
    assert model_files(tmp_path / "ours.mpu") == model_files(tmp_path / "some.mpu")

    loaded = load(tmp_path / "some.mpu")
    assert (loaded.classes_.tolist(), loaded.n_features_in_) == (classes.tolist(), X.shape[1])
    np.testing.assert_array_equal(loaded.thresholds_, model.thresholds_)
    np.testing.assert_array_equal(loaded.c_, model.c_)
    assert (loaded.record_, loaded.expected_f1_) == (model.record_, model.expected_f1_)
    assert (loaded.C, loaded.eta0) == (loaded.record_["cost"], loaded.record_["eta0"])
    assert (loaded.predict(X) != model.predict(X)).nnz == 0
    assert clone(loaded).fit(X, S).predict(X).shape == S.shape
    loaded.save(tmp_path / "again.mpu")
    assert model_files(tmp_path / "again.mpu") == model_files(tmp_path / "some.mpu")


def test_classes_out_of_order_are_saved_in_order(run, tmp_path, dense):
    X, _, S = dense
    straight = MPUClassifier(**QUICK, classes=[2, 5, 7, 9]).fit(X, S)
    turned = MPUClassifier(**QUICK, classes=[9, 7, 5, 2]).fit(X, S[:, ::-1])
    np.testing.assert_array_equal(turned.predict_proba(X), straight.predict_proba(X)[:, ::-1])
    straight.save(tmp_path / "a.mpu")
    turned.save(tmp_path / "b.mpu")
    assert model_files(tmp_path / "a.mpu") == model_files(tmp_path / "b.mpu")


def test_learns_what_is_missing(dense):
    X, truth, S = dense
    model = MPUClassifier().fit(X, S)
    assert model.c_ == pytest.approx(np.full(4, 0.67), abs=0.1)
    assert model.score(X, truth) > 0.95
    assert model.score(X, truth) == pytest.approx(f1_score(truth, model.predict(X), average="micro"))
    assert model.expected_f1_ > 0.9
    assert model.score(X, S, c=0.67) > model.score(X, S) + 0.1
    assert model.record_["expected_micro_f1"] == model.expected_f1_


@pytest.mark.parametrize("container", [np.asarray, csr_array, csr_matrix, np.ndarray.tolist])
def test_predictions_are_sparse_where_the_labels_are(dense, container):
    X, _, S = dense
    expected = MPUClassifier(**QUICK).fit(X, S)
    model = MPUClassifier(**QUICK).fit(container(X), container(S))
    predicted = model.predict(container(X))
    assert issparse(predicted) == (container in (csr_array, csr_matrix))
    np.testing.assert_array_equal(predicted.toarray() if issparse(predicted) else predicted, expected.predict(X))
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
    np.testing.assert_array_equal(model.predict_proba(X) >= model.thresholds_, expected.predict(X))


def test_the_arrays_of_the_caller_stay_as_they_are(dense):
    X, _, S = dense
    rows, columns = X.nonzero()
    order = np.random.default_rng(0).permutation(len(rows))
    shuffled = csr_array((X[rows, columns][order], (rows[order], columns[order])), X.shape)
    unsorted = csr_array((shuffled.data[::-1].copy(), shuffled.indices[::-1].copy(), shuffled.indptr), X[::-1].shape)
    before = unsorted.copy()
    labels = csr_array(S[::-1])
    labels.data[0] = 0  # stored, and yet no annotation
    assert unsorted.indices.dtype == np.int64  # learned from as 32-bit ones, which kernels are compiled for
    assert as_csr(unsorted).indptr.dtype == as_csr(unsorted).indices.dtype == np.int32
    MPUClassifier(**QUICK, features="linear").fit(unsorted, labels)
    np.testing.assert_array_equal(unsorted.indices, before.indices)
    np.testing.assert_array_equal(unsorted.data, before.data)
    assert labels.data[0] == 0


def test_labels_that_are_never_annotated_keep_their_place_and_have_no_c_of_their_own(tmp_path, dense):
    X, _, S = dense
    gap = np.insert(S, 2, 0, axis=1)
    whole, model = (MPUClassifier(levels=2, c=0.6, C=30.0).fit(X, labels) for labels in (S, gap))
    np.testing.assert_array_equal(model.predict(X), np.insert(whole.predict(X), 2, 0, axis=1))
    np.testing.assert_array_equal(model.predict_proba(X), np.insert(whole.predict_proba(X), 2, 0, axis=1))
    assert (model.thresholds_[2], model.c_.tolist(), model.classes_.tolist()) == (np.inf, [0.6] * 5, [0, 1, 2, 3, 4])
    model.save(tmp_path / "a.mpu")
    assert load(tmp_path / "a.mpu").classes_.tolist() == [0, 1, 3, 4]
    of_each = MPUClassifier(**QUICK | {"c": [0.9, 0.3, 0.2, 0.5, 0.6]}).fit(X, gap)
    np.testing.assert_array_equal(of_each.c_, [0.9, 0.3, np.nan, 0.5, 0.6])


@pytest.mark.parametrize(
    "parameters",
    [
        {"levels": True},
        {"c": [0.5, 2, 0.5, 0.5]},
        {"c": [0.9, 0.3, 0.2, 0.5, 0.6]},
        {"c": {"a": 1}},
        {"C": None},
        {"threshold": "f1"},
        {"n_jobs": 0},
        {"random_state": -1},
        {"classes": list("abc")},
        {"classes": list("abca")},
    ],
)
def test_parameters_that_cannot_be_are_refused(dense, parameters):
    with refused(ValueError):
        MPUClassifier(**parameters).fit(dense[0], dense[2])


@pytest.mark.parametrize(
    ("labels", "problem"),
    [
        (np.zeros((3, 2)), "no instance has a label, .* y holds zeros only"),
        (np.full((3, 2), np.nan), "no instance has a label, .* y is unknown everywhere"),
        (np.diag([0, 0, np.nan]), "no instance has a label, .* y holds zeros and unknown cells only"),
        (np.zeros((3, 0)), "no instance has a label, .* y has no columns"),
        (np.full((3, 2), 2), "y contains values other than 0, 1"),
        (np.array([["a", "b"]] * 3), "y contains values other"),
        ([1, 1, 1], "y has one class only"),
        (iter([["a"], [], ["b"]]), "y can be read only once: give a list"),
        ([0.5, 1, 1.5], "Unknown label type: continuous"),
        (np.ones((2, 2)), "inconsistent numbers of samples"),
    ],
)
def test_other_labels_than_indicators_are_refused(labels, problem):
    with pytest.raises(ValueError, match=problem):
        MPUClassifier().fit(np.eye(3), labels)


def test_another_shape_of_labels_has_no_score(dense):
    X, _, S = dense
    model = MPUClassifier(**QUICK).fit(X, S)
    with refused(ValueError):
        model.score(X, S[:, 1:])
    with refused(ValueError):
        model.score(X, S, c=2)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize(("which", "index"), [("X", 99), ("X", -3), ("y", 99)])
def test_a_broken_sparse_matrix_is_refused_and_never_followed(form, which, index):
    X, S = np.eye(12, 5, dtype=np.float32) + 1, np.eye(12, 3, dtype=int)
    model, sound = MPUClassifier(**QUICK), {"X": csr_array(X), "y": csr_array(S)}
    broken = sound[which].asformat(form).copy()
    indices = broken.coords[1] if form == "coo" else broken.indices
    indices[1] = index
    with pytest.raises(ValueError, match=f"{which} is not a sound sparse matrix"):
        model.fit(**(sound | {which: broken}))
    if which == "X":
        with pytest.raises(ValueError, match="X is not a sound sparse matrix"):
            model.fit(X, S).predict_proba(broken)


@pytest.fixture
def named(dense):
    """Features, true and annotated label sets by name."""
    X, truth, S = dense
    return X, *([TOPICS[row == 1].tolist() for row in matrix] for matrix in (truth, S))


@pytest.mark.parametrize(("kind", "outer"), [(list, tuple), (tuple, list), (set, "array"), (frozenset, "series")])
def test_label_sets_are_as_the_matrix_that_a_binarizer_makes(named, kind, outer):
    X, _, tags = named
    given = [kind(row) for row in tags]
    if outer == "array":
        given = np.fromiter(given, object, len(given))
    elif outer == "series":
        given = pytest.importorskip("pandas").Series(given, index=range(7, 7 + len(given)))
    model = MPUClassifier(**QUICK).fit(X, given if isinstance(outer, str) else outer(given))
    binarizer = MultiLabelBinarizer().fit(tags)
    other = MPUClassifier(**QUICK, classes=binarizer.classes_).fit(X, binarizer.transform(tags))
    assert model.classes_.tolist() == binarizer.classes_.tolist() == sorted(TOPICS)
    assert issparse(model.predict(X))
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))
    np.testing.assert_array_equal(model.predict(X).toarray(), other.predict(X))
    assert model.score(X, [[*row, "new"] for row in tags]) < model.score(X, tags) == other.score(X, tags)
    assert model.predict_labels(X) == other.predict_labels(X) == binarizer.inverse_transform(other.predict(X))


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        ([["a"], ["b", 3]], r"y\[1\] has the label 3: give texts"),
        ([["a"], ["c"]], r"y\[1\] has the label 'c', which is not among the classes"),
        ([[], []], "y has 0 columns"),
        ([["a"], "b"], r"y\[1\] is 'b', and others are label sets"),
        ([["a"], {"a": 1}, ["b"]], r"y\[1\] is {'a': 1}, and others are label sets"),
        ([["a"], None, ["b"]], r"y\[1\] is None, and others are label sets"),
        (["a", "b"], "Unknown label type.*, or a list of names for each instance"),
    ],
)
def test_what_are_no_label_sets(tags, message):
    with pytest.raises(ValueError, match=message):
        MPUClassifier(**QUICK, classes=["a", "b"]).fit(np.eye(len(tags)), tags)


def test_names_are_kept_on_disk(named, tmp_path, run):
    X, _, tags = named
    model = MPUClassifier(**QUICK, classes=["never", *TOPICS]).fit(X, tags)
    model.save(tmp_path / "topics.mpu")
    loaded = load(tmp_path / "topics.mpu")
    assert loaded.classes_.tolist() == TOPICS.tolist()
    assert loaded.predict_labels(X) == model.predict_labels(X)
    assert load(tmp_path / "topics.mpu", numbers=True).classes_.tolist() == [2, 3, 4, 5]
    loaded.save(tmp_path / "again.mpu")
    assert contents(tmp_path / "topics.mpu") == contents(tmp_path / "again.mpu")
    with (tmp_path / "new.svm").open("wb") as out:
        write_instances(out, Dataset(csr_array((len(X), 1), dtype=bool), csr_array(X, dtype=np.float32)))
    result = run("predict", tmp_path / "topics.mpu", tmp_path / "new.svm", "--format", "jsonl")
    assert "digital television" in result.stdout and "2005 (" not in result.stdout


@pytest.mark.parametrize("name", ["", " a", "a\tb", "a\nb", 1.5])
def test_names_that_a_model_on_disk_cannot_keep(tmp_path, name):
    classes = np.empty(2, object)
    classes[:] = [name, "other"]
    model = MPUClassifier(**QUICK, classes=classes).fit(np.eye(2).repeat(9, 0), np.eye(2, dtype=int).repeat(9, 0))
    with refused(ValueError):
        model.save(tmp_path / "x.mpu")
    assert not (tmp_path / "x.mpu").exists()


def test_labels_of_one_name_are_told_apart(run, tmp_path):
    (tmp_path / "x.svm").write_text("1 1:1\n2 2:1\n3 3:1\n" * 20)
    (tmp_path / "x.labels").write_text("news\nnews\n\n")
    run.ok("train", tmp_path / "x.svm", "--c", 0.5, "--cost", 30, "--epochs", 2, "--levels", 1)
    assert load(tmp_path / "x.mpu").classes_.tolist() == ["news (1)", "news (2)", "3"]
