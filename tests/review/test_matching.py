"""Decisions and data brought together; the numbering of other data is refused."""

import gzip

import numpy as np
import pytest
from scipy.sparse import csr_array

from mpu_cli.errors import InputError
from mpu_cli.review.decisions import checksum, read
from mpu_cli.review.matching import match
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight import reader
from tests.kernels import NUMBA

NEWS = "3 1:1 7:0.25\n1,3 2:-1e-3\n\n7 1:2\n"


@pytest.fixture
def news(file):
    return file(NEWS, "news.svm")


@pytest.fixture
def review(tmp_path, news):
    """Match news with a review of these lines."""

    def matched(*lines: str, comment: str = ""):
        path = tmp_path / "checked.tsv"
        path.write_text(comment + "instance\tlabel\tverdict\tsource\n" + "".join(f"{line}\n" for line in lines))
        return match(read([path]), reader.read(news), news)

    return matched


def test_what_is_known(review):
    of_two = "2\t1\tno\tsuggestion", "2\t3\tyes\tsuggestion"  # annotated, both
    reviewed = review("1\t7\tyes\tsample", "1\t*\tno\tsample", "4\t1\tno\tsuggestion", *of_two)
    assert reviewed.ids.tolist() == [1, 3, 7]
    assert reviewed.labels.toarray().tolist() == [[0, 1, 0], [1, 1, 0], [0, 0, 0], [0, 0, 1]]
    assert reviewed.verified.verdicts().tolist() == [[2, 2, 1], [2, 1, 0], [0, 0, 0], [2, 0, 0]]
    assert reviewed.sampled.tolist() == [0]
    counts = reviewed.review
    assert (counts.decisions, counts.found, counts.refuted, counts.unused) == (5, 1, 1, 0)


def test_what_nobody_had_suggested(review, tmp_path, file, news):
    """A label that one person added and another one was asked about was suggested."""
    reviewed = review("1\t7\tyes\tadded", "4\t1\tyes\tAdded", "2\t7\tno\tsuggestion")
    assert reviewed.origins.toarray().tolist() == [[0, 0, -1], [0] * 3, [0] * 3, [-1, 0, 0]]
    assert reviewed.verified.verdicts().tolist() == [[0, 0, 1], [0, 0, 2], [0, 0, 0], [1, 0, 0]]
    other = file("instance\tlabel\tverdict\tsource\n4\t1\tyes\tsuggestion\n", "other.tsv")
    decided = read([tmp_path / "checked.tsv", other])
    assert match(decided, reader.read(news), news).origins.nonzero()[0].tolist() == [0]


def test_a_sample_that_is_not_closed_and_a_suggestion_that_is_are_no_sample(review):
    reviewed = review("1\t7\tyes\tsample", "2\t*\tno\tsuggestion")
    assert reviewed.sampled is None
    assert reviewed.verified.instances.tolist() == [0, 2, 0, 0]


def test_a_label_that_is_annotated_nowhere_is_new_where_it_is_true(review):
    reviewed = review("1\t5\tyes\tsample", "2\t5\tno\tsample", "2\t6\tno\tsample")
    assert (reviewed.ids.tolist(), reviewed.review.new_labels) == ([1, 3, 5, 7], [5])
    assert reviewed.labels.toarray()[:, 2].tolist() == [0, 0, 0, 0]
    assert reviewed.labels.toarray()[:, 3].tolist() == [0, 0, 0, 1]
    assert (reviewed.verified.verdicts()[:, 2].tolist(), reviewed.review.unused) == ([1, 2, 0, 0], 1)


def test_the_checksum_of_the_data_is_taken_and_another_is_refused(review, news, tmp_path):
    own = checksum(reader.read(news).features)
    assert review("1\t7\tyes\t", comment=f"# checksum {own}\n").review.found == 1
    assert review("1\t7\tyes\t", comment=f"\ufeff# CHECKSUM {own.upper()}\t\t\n").review.found == 1
    with pytest.raises(InputError) as caught:
        review("1\t7\tyes\t", comment=f"# checksum {'0' * 64}\n")
    assert str(caught.value).startswith(f"{tmp_path / 'checked.tsv'}: it was made for other data than {news}")


def test_the_checksum_follows_the_instances_and_not_the_labels(tmp_path):
    def of(text: str, name: str = "x.svm", **how) -> str:
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return checksum(reader.read(path, **how).features)

    own = of(NEWS)
    assert of(NEWS, "x.svm.gz") == own
    assert of(NEWS.replace("1,3", "3,9").replace("\n", " \r\n")) == own
    for kernel in ["numpy", *["numba"] * NUMBA]:
        assert of(NEWS, run=Run(kernel=kernel)) == own
    lines = NEWS.splitlines(keepends=True)
    others = ["".join(lines[:-1]), NEWS + "3\n", "".join(lines[::-1]), NEWS.replace("1:2", "1:3"), NEWS + lines[-1]]
    assert len({own, *map(of, others)}) == 6


def test_the_checksum_does_not_depend_on_the_width_of_integers():
    matrix = csr_array(np.eye(3, dtype=np.float32))
    wide = csr_array(matrix)
    wide.indices, wide.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    assert checksum(wide) == checksum(matrix)
