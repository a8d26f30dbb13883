"""Files beside the data: features and names of labels, frequencies, and what the data contradict."""

import gzip

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from mpu_cli.core.options import Options
from mpu_cli.errors import InputError
from mpu_cli.inputs.side_tables import frequency_lines, read_frequencies
from mpu_cli.inputs.training_data import TrainingFiles, read_training_data
from mpu_cli.names.naming import Naming
from mpu_cli.runtime.options import LEAST_FREQUENCY
from mpu_cli.runtime.run import Run
from tests.golden import assert_worded, refused


@pytest.fixture
def data(file):
    return file("2,5 1:1 3:1\n5 3:1\n 7:1\n", "data.svm")


def widened(data, **sources):
    return read_training_data(TrainingFiles(data, **sources), Run())


def test_features_are_those_of_the_label_whatever_the_order_of_lines(data, file):
    found = widened(data, label_features=file("# labels\n9 7:2\n5 3:1 12:4\n"))
    assert_array_equal(found.ids, [2, 5, 9])
    assert_array_equal(found.labels.toarray(), [[True, True, False], [False, True, False], [False] * 3])
    wanted = np.zeros((3, 13))
    wanted[1, [3, 12]], wanted[2, 7] = (1, 4), 2
    assert_array_equal(found.label_features.toarray(), wanted)
    assert_array_equal(found.never_annotated, [9])


def test_a_line_without_features_is_a_label_of_which_nothing_is_known(data, file):
    found = widened(data, label_features=file("2\n5 3:1\n8\n"))
    assert_array_equal(found.ids, [2, 5, 8])
    assert_array_equal(np.diff(found.label_features.indptr), [0, 1, 0])


def test_names_that_are_given_are_labels_of_the_model(data, file):
    found = widened(data, naming=Naming(file("one\ntwo\n\nfour\tquattro\nfive\n")))
    assert_array_equal(found.ids, [1, 2, 4, 5])
    assert_array_equal(found.never_annotated, [1, 4])
    assert found.label_features is None


def test_reviews_and_complete_instances_keep_their_labels(data, file):
    more = file("3,5 1:1\n", "more.svm")
    review = file("instance\tlabel\tverdict\n1\t2\tyes\n1\t5\tno\n", "checked.tsv")
    given = {"reviewed": [review], "fully_labelled": more}
    before = widened(data, **given)
    after = widened(data, **given, label_features=file("1 1:1\n5 3:1\n4 3:1\n"))
    assert_array_equal(after.ids, [1, 2, 3, 4, 5])
    places = np.searchsorted(after.ids, before.ids)
    assert_array_equal(after.labels.toarray()[:, places], before.labels.toarray())
    assert_array_equal(after.verified.cells.toarray()[:, places], before.verified.cells.toarray())
    assert_array_equal(after.verified.instances, before.verified.instances)
    assert not after.labels.toarray()[:, [0, 3]].any() and not after.verified.cells.toarray()[:, [0, 3]].any()


def test_frequencies_of_a_file_need_no_line_for_labels_that_are_never_annotated(data, file, tmp_path):
    frequencies = file("2 0.5\n5 0.7\n", "c")
    found = widened(data, label_features=file("5 3:1\n9 3:1\n"))
    assert_array_equal(found.resolved(Options(c=frequencies)).c.round(6), [0.5, 0.7, 0.6])


# What is taken for what it is not


@pytest.fixture
def told(file, caplog):
    """Read data of labels 1, with 2 or 3 below it, and 4, with 5 below it, and what a file beside them says."""
    data = file("1,2 1:1\n1,3 2:1\n1 3:1\n4,5 1:1\n4 2:1\n4 4:1\n3 1:1\n" * 20, "x.svm")

    def read(text: str, kind, **options) -> str:
        caplog.clear()
        path = file(text)
        widened(data, **({"implied": path} if kind == "implied" else {"naming": Naming(path, **options)}))
        return "\n".join(record.message for record in caplog.records)

    return read


@pytest.mark.parametrize(
    ("rules", "is_told"),
    [
        ("2 1\n3 1\n5 4\n", False),
        ("1 2\n1 3\n4 5\n", True),
        ("2\t1\n", False),
        ("2 1\n1 3\n3 2\n", True),
        ("2 2\n3 1\n5 4\n", True),
        ("2 2\n", True),
    ],
)
def test_rules_that_the_annotations_contradict_or_that_go_in_a_circle(told, rules, is_told):
    text = told(rules, "implied")
    assert bool(text) == is_told
    assert not text or assert_worded(text) is None


def test_a_label_0_that_does_not_occur(told):
    assert told("a\nb\nc\nd\ne\n", "names") == ""
    assert_worded(told("zero\na\nb\nc\nd\ne\n", "names"))
    assert told("zero\na\nb\nc\nd\ne\n", "names", zero_based=True) == ""


# Frequencies of labels


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"3 0.25\n12 1\n", [0.25, 1]),
        (b"12\t1e-3\r\n  3   .5 ", [0.5, 0.001]),
        (b"# label c\n\n3 0.25 # few\n   \n12 1\n# any words\n", [0.25, 1]),
        (b"99 0.1\n3 0.25\n12 1\n", [0.25, 1]),  # a label that is not wanted
        (gzip.compress(b"3 0.25\n12 1\n", mtime=0), [0.25, 1]),
    ],
)
def test_a_line_a_label_in_any_order_with_comments(file, text, expected):
    assert read_frequencies(file(text), np.array([3, 12])).tolist() == expected


@given(st.dictionaries(st.integers(0, 2**31 - 2), st.floats(LEAST_FREQUENCY, 1), min_size=1, max_size=9))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_what_is_written_reads_back_to_six_digits(file, frequencies):
    ids = np.array(sorted(frequencies))
    c = np.array([frequencies[label] for label in ids.tolist()])
    np.testing.assert_allclose(read_frequencies(file(frequency_lines(ids, c)), ids), c, rtol=5e-6)


@pytest.mark.parametrize(
    "text", [b"a" + b" " * 60_000 + b"x", b"a " + b"1" * 60_000 + b"x", b"a " + b"1 " * 30_000 + b"x"]
)
def test_a_long_line_is_refused_in_linear_time(file, text):
    """With the square of it, minutes."""
    with refused(InputError, ":1: "):
        read_frequencies(file(text), np.array([3, 12]))
