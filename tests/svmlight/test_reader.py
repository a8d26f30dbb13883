import gzip
import io
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from mpu_cli.errors import InputError
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.grammar import Reading
from mpu_cli.svmlight.reader import iter_chunks, iter_stream, read
from mpu_cli.svmlight.streams import open_input
from tests.golden import refused
from tests.hypotheses import examples
from tests.line_limit import line_limit
from tests.svmlight.corpus import replay
from tests.svmlight.generated import blocks
from tests.svmlight.reference import assert_reads_as_the_reference, assert_same

pytestmark = pytest.mark.usefixtures("kernel")
INPUTS = sorted((Path(__file__).parent / "corpus" / "inputs").iterdir())


def assert_read_as_scikit_learn_does(path) -> None:
    ours = read(path)
    features, label_sets = load_svmlight_file(str(path), multilabel=True, zero_based=True, dtype=np.float32)
    features.sort_indices()
    assert ours.features.shape == features.shape
    assert np.array_equal(ours.features.indptr, features.indptr)
    assert np.array_equal(ours.features.indices, features.indices)
    assert ours.features.data.tobytes() == features.data.tobytes()
    assert [row.indices.tolist() for row in ours.labels] == [sorted(map(int, labels)) for labels in label_sets]


@pytest.mark.slow  # files of megabytes
@pytest.mark.parametrize("part", [0, 1])
def test_shared_sets_are_read_as_scikit_learn_does(shared_set, part):
    assert_read_as_scikit_learn_does(shared_set[part])


@pytest.mark.parametrize("zero_based", [True, False])
def test_what_scikit_learn_writes(tmp_path, zero_based):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(300, 40)) * (rng.random((300, 40)) < 0.3) * 10.0 ** rng.integers(-9, 9, (300, 40))
    labels = (rng.random((300, 7)) < 0.3).astype(int)
    dump_svmlight_file(features, labels, str(tmp_path / "x"), multilabel=True, zero_based=zero_based, comment="made up")
    assert_read_as_scikit_learn_does(tmp_path / "x")


@given(blocks(), st.sampled_from([b"", b"0 1 1\n", b"2 9 9\n"]), st.booleans(), st.integers(1, 40), st.integers(1, 30))
@settings(max_examples=examples(200), deadline=None)
def test_reader_equals_the_reference(block, header, implicit_values, max_line_bytes, block_bytes):
    with line_limit(max_line_bytes):
        assert_reads_as_the_reference(header + block, Reading(implicit_values), block_bytes)


@pytest.mark.parametrize("file", INPUTS, ids=[path.name for path in INPUTS])
def test_what_was_fuzzed(file):
    replay(file.read_bytes())


LINES = b"# comment\r\n2,1 7:0.5 3:1e-3\n\n 4:1 # comment\n# comment\n5\n1 12:-1\n9:2"


@pytest.mark.parametrize("text", [LINES, b"6 13 6\n" + LINES, b"#\n" + LINES, b""])
def test_a_byte_order_mark_may_begin_a_file(tmp_path, text):
    (tmp_path / "x").write_bytes(text)
    (tmp_path / "marked").write_bytes(b"\xef\xbb\xbf" + text)
    marked = [list(iter_chunks(tmp_path / name, may_be_empty=True)) for name in ("x", "marked")]
    for one, other in zip(*marked, strict=True):
        assert_same(one, other)


@pytest.mark.parametrize("jobs", [2, 5, -1])
@pytest.mark.parametrize("block_bytes", [1, 50, 1 << 20])
def test_the_number_of_threads_does_not_matter(digits, block_bytes, jobs):
    with digits[0].open("rb") as file:
        text = b"".join(file.readlines()[:200])
    alone, together = (iter_stream(io.BytesIO(text), "x", block_bytes=block_bytes, run=Run(jobs=n)) for n in (1, jobs))
    for one, other in zip(alone, together, strict=True):
        assert_same(one, other)


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_first_of_several_errors_is_raised(tmp_path, jobs):
    compressed = gzip.compress(b"1 1:1\n" * 50 + b"1 1:x\n" + b"1 1:1\n" * 50, mtime=0)
    (tmp_path / "x.gz").write_bytes(compressed[:-5])
    with refused(InputError, "x.gz:51: "), open_input(tmp_path / "x.gz") as stream:
        list(iter_stream(stream, str(tmp_path / "x.gz"), block_bytes=10, run=Run(jobs=jobs)))
    (tmp_path / "x.gz").write_bytes(gzip.compress(b"1 1:1\n" * 101, mtime=0)[:-5])
    with open_input(tmp_path / "x.gz") as stream:
        chunks = iter_stream(stream, str(tmp_path / "x.gz"), block_bytes=60, run=Run(jobs=jobs))
        assert len(next(chunks)) == 10
        with refused(InputError):
            list(chunks)


@pytest.mark.parametrize("jobs", [1, 3])
def test_reading_ahead_is_bounded_and_ends_with_the_consumer(jobs):
    before = set(threading.enumerate())
    stream = io.BytesIO(b"1 1:1\n" * 1000)
    chunks = iter_stream(stream, "x", block_bytes=6, run=Run(jobs=jobs))
    for n in range(1, 11):
        assert len(next(chunks)) == 1
        assert stream.tell() <= 6 * (2 * jobs + n)
    readers = set(threading.enumerate()) - before
    assert readers
    chunks.close()
    for reader in readers:
        reader.join(timeout=10)
        assert not reader.is_alive()
