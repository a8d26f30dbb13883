"""`MPUClassifier` with labels by name."""

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse
from sklearn.preprocessing import MultiLabelBinarizer

from mpu_cli import MPUClassifier, load
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.writer import write_instances
from tests.folders import contents
from tests.golden import refused

QUICK = {"c": 0.5, "C": 30, "epochs": 2, "levels": 1}
TOPICS = np.array(["the arts", "digital television", "2005", "=1+1"])


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
        ([[], []], "0 feature"),
        (["a", "b"], "Unknown label type.*, or a list of names for each instance"),
    ],
)
def test_what_are_no_label_sets(tags, message):
    with pytest.raises(ValueError, match=message):
        MPUClassifier(**QUICK, classes=["a", "b"]).fit(np.eye(2), tags)


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
