"""Labels that are known beside those that are annotated: by a file of their features, or by their names."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mpu_cli.core.options import Options
from mpu_cli.errors import InputError
from mpu_cli.inputs.training_data import Sources, read_training_data
from mpu_cli.names.naming import Naming
from mpu_cli.runtime.run import Run
from tests.golden import refused

DATA = "2,5 1:1 3:1\n5 3:1\n 7:1\n"


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.svm"
    path.write_text(DATA)
    return path


def widened(data, **sources):
    return read_training_data(Sources(data, **sources), Run())


def features_of(tmp_path, text):
    path = tmp_path / "labels.svm"
    path.write_text(text)
    return path


def test_features_are_those_of_the_label_whatever_the_order_of_lines(data, tmp_path):
    found = widened(data, label_features=features_of(tmp_path, "# labels\n9 7:2\n5 3:1 12:4\n"))
    assert_array_equal(found.ids, [2, 5, 9])
    assert_array_equal(found.labels.toarray(), [[True, True, False], [False, True, False], [False] * 3])
    wanted = np.zeros((3, 13))
    wanted[1, [3, 12]], wanted[2, 7] = (1, 4), 2
    assert_array_equal(found.label_features.toarray(), wanted)
    assert_array_equal(found.never_annotated, [9])


def test_a_line_without_features_is_a_label_of_which_nothing_is_known(data, tmp_path):
    found = widened(data, label_features=features_of(tmp_path, "2\n5 3:1\n8\n"))
    assert_array_equal(found.ids, [2, 5, 8])
    assert_array_equal(np.diff(found.label_features.indptr), [0, 1, 0])


def test_names_that_are_given_are_labels_of_the_model(data, tmp_path):
    names = tmp_path / "names"
    names.write_text("one\ntwo\n\nfour\tquattro\nfive\n")
    found = widened(data, naming=Naming(names))
    assert_array_equal(found.ids, [1, 2, 4, 5])
    assert_array_equal(found.never_annotated, [1, 4])
    assert found.label_features is None


def test_names_that_are_found_are_no_labels_without_features(data):
    data.with_name("data.labels").write_text("one\ntwo\nthree\nfour\nfive\n")
    assert_array_equal(widened(data).ids, [2, 5])


def test_reviews_and_complete_instances_keep_their_labels(data, tmp_path):
    more = tmp_path / "more.svm"
    more.write_text("3,5 1:1\n")
    review = tmp_path / "checked.tsv"
    review.write_text("instance\tlabel\tverdict\n1\t2\tyes\n1\t5\tno\n")
    given = {"reviewed": [review], "fully_labelled": more}
    before = read_training_data(Sources(data, **given), Run())
    after = widened(data, **given, label_features=features_of(tmp_path, "1 1:1\n5 3:1\n4 3:1\n"))
    assert_array_equal(after.ids, [1, 2, 3, 4, 5])
    places = np.searchsorted(after.ids, before.ids)
    assert_array_equal(after.labels.toarray()[:, places], before.labels.toarray())
    assert_array_equal(after.verified.cells.toarray()[:, places], before.verified.cells.toarray())
    assert_array_equal(after.verified.instances, before.verified.instances)
    assert not after.labels.toarray()[:, [0, 3]].any()
    assert not after.verified.cells.toarray()[:, [0, 3]].any()


def test_frequencies_of_a_file_need_no_line_for_labels_that_are_never_annotated(data, tmp_path):
    frequencies = tmp_path / "c"
    frequencies.write_text("2 0.5\n5 0.7\n")
    found = widened(data, label_features=features_of(tmp_path, "5 3:1\n9 3:1\n"))
    assert_array_equal(found.resolved(Options(c=frequencies)).c.round(6), [0.5, 0.7, 0.6])
    frequencies.write_text("2 0.5\n9 0.7\n")
    with refused(InputError):
        found.resolved(Options(c=frequencies))
