"""Features and labels in two files, as in the Extreme Classification Repository, are read as one file."""

import gzip

import pytest

from mpu_cli.errors import InputError
from mpu_cli.svmlight.reader import read
from mpu_cli.svmlight.streams import Files, as_one, open_input
from tests.golden import refused

FEATURES = b"4 3\n0:0.5 2:2\n0:1 1:3\r\n\n1:1 2:4\n"
LABELS = b"4 6\n0:1 5:1.0 \n\n5:1\r\n3:1"
JOINED = b"4 3 6\n0,5 0:0.5 2:2\n 0:1 1:3\r\n5 \n3 1:1 2:4\n"


@pytest.fixture(params=[("trn_X_Xf.txt", "trn_X_Y.txt"), ("X.txt", "Y.txt"), ("tst-X.svm.gz", "tst-Y.svm.gz")])
def pair(tmp_path, request):
    """The paths of both files."""
    features, labels = (tmp_path / name for name in request.param)
    for path, content in ((features, FEATURES), (labels, LABELS)):
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return features, labels


@pytest.mark.parametrize("which", [0, 1])
def test_either_file_means_both(pair, which):
    with open_input(pair[which]) as stream:
        assert stream.read() == JOINED
    with open_input(pair[which]) as stream:
        assert [stream.readline() for _ in range(2)] == JOINED.splitlines(keepends=True)[:2]
    data = read(pair[which])
    assert data.labels.shape == (4, 6)
    assert data.features.toarray().tolist() == [[0.5, 0, 2], [1, 3, 0], [0, 0, 0], [0, 1, 4]]


def test_both_files_are_one(pair, tmp_path):
    features, labels = map(str, pair)
    assert as_one([features, labels]) == as_one([labels, features]) == features
    assert as_one([labels, "other.svm"]) == Files([features, "other.svm"])


@pytest.mark.parametrize("declaring", [0, 1])
def test_the_header_that_contradicts_is_named(tmp_path, declaring):
    pair = tmp_path / "X.txt", tmp_path / "Y.txt"
    for i, path in enumerate(pair):
        path.write_text(f"2 {5 - (i == declaring)}\n0:1\n4:1\n")
    for path in pair:
        with refused(InputError, f"{pair[declaring]}:1: "):
            read(path)


def test_the_damaged_file_is_named(pair):
    for path in pair:
        if path.suffix == ".gz":
            whole = path.read_bytes()
            path.write_bytes(whole[:-5])
            with refused(InputError, f"{path}: "):
                read(pair[0])
            path.write_bytes(whole)
