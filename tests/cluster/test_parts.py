import gzip
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import vstack

from mpu_cli.cluster import reading
from mpu_cli.cluster.reading import Part, check_parts, plan_parts, read_part
from mpu_cli.errors import InputError
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.grammar import Extent, Reading
from mpu_cli.svmlight.reader import read
from tests import kernels
from tests.golden import refused
from tests.hypotheses import examples
from tests.line_limit import line_limit
from tests.svmlight.generated import blocks, well_formed_blocks
from tests.svmlight.reference import assert_same

LINES = b"# comment\n1 1:1\n2,3 2:0.5 7:1\n\n# another\n4 3:1\n5 1:2"


def stacked(datasets: list[Dataset]) -> Dataset:
    widths = [max(getattr(data, name).shape[1] for data in datasets) for name in ("labels", "features")]
    for data in datasets:
        data.labels.resize(len(data), widths[0])
        data.features.resize(len(data), widths[1])
    labels, features = (vstack([getattr(data, name) for data in datasets], "csr") for name in ("labels", "features"))
    return Dataset(labels, features)


def extent_of(data: Dataset) -> Extent:
    return Extent(len(data), data.features.shape[1], data.labels.shape[1])


def read_in_parts(paths: list, most_bytes: int, reading: Reading = Reading()) -> Dataset:  # noqa: B008
    planned = plan_parts(paths, most_bytes)
    found = [read_part(part, reading) for part in planned]
    check_parts(planned, [extent_of(data) for data in found], reading)
    return stacked(found)


@given(
    st.lists(st.tuples(st.sampled_from([b"", b"# comment\n"]), well_formed_blocks()), min_size=1, max_size=3),
    st.integers(1, 60),
    st.booleans(),
)
@settings(max_examples=examples(60), deadline=None)
def test_the_parts_together_are_the_files_one_after_another(texts, most_bytes, with_header):
    with TemporaryDirectory() as folder:
        files = []
        for number, (comment, block) in enumerate(texts):
            path = Path(folder) / str(number)
            path.write_bytes(comment + block)
            data = read_part(Part(str(path)))
            if not len(data):
                path.write_bytes(b"3 4:5\n")
                data = read_part(Part(str(path)))
            if with_header:
                path.write_bytes(b"%d 2147483647 2147483647\r\n" % len(data) + path.read_bytes())
            files.append(path)
        whole = [read(path) for path in files]
        assert_same(read_in_parts(files, most_bytes), stacked(whole))


HEADERS = st.sampled_from([b"", b"2 2147483647 2147483647\n"])


@given(blocks(), st.integers(1, 40), st.integers(1, 30), st.booleans(), HEADERS)
@settings(max_examples=examples(150), deadline=None)
def test_errors_are_those_of_the_whole_file(block, most_bytes, max_line_bytes, implicit_values, header):
    """The first error of the parts in their order is the one of the file, with its line."""
    reading = Reading(implicit_values)
    with TemporaryDirectory() as folder, line_limit(max_line_bytes):
        path = Path(folder) / "x"
        path.write_bytes(header + block)
        try:
            expected = read(path, reading)
        except InputError as error:
            with pytest.raises(InputError) as found:
                read_in_parts([path], most_bytes, reading)
            assert str(found.value) == str(error)
        else:
            assert_same(read_in_parts([path], most_bytes, reading), expected)


def test_only_plain_regular_files_are_cut(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(LINES))
    (tmp_path / "b").write_bytes(LINES)
    (tmp_path / "d").write_bytes(gzip.compress(LINES))
    os.mkfifo(tmp_path / "c")  # would wait for a writer if it were opened
    planned = plan_parts([tmp_path / "a.gz", tmp_path / "b", tmp_path / "c", tmp_path / "d", "-"], 20)
    of_b = [("b", False)] * 3
    found = [(Path(part.path).name, part.is_file) for part in planned]
    assert found == [("a.gz", True), *of_b, ("c", True), ("d", True), ("-", True)]


def test_a_file_at_a_url_is_a_part_as_a_whole(tmp_path, memory, served):
    memory.pipe("/x.svm", LINES)
    (tmp_path / "x").write_bytes(LINES)
    url, files = served
    files["/x"] = LINES
    for source in ("memory://x.svm", f"{url}/x"):
        assert plan_parts([source], 20) == [Part(source)]
        assert_same(read_part(Part(source)), read(tmp_path / "x"))


def test_an_error_names_the_line_of_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "BLOCK_BYTES", 50)  # lines are counted over several blocks
    (tmp_path / "x").write_bytes(b"1 1:1\n" * 500 + b"1 1:x\n" + b"1 1:1\n" * 99)
    failing = [part for part in plan_parts([tmp_path / "x"], 400) if part.start <= 3000 and (part.end or 9999) > 3000]
    assert len(failing) == 1
    with refused(InputError, "x:501: "):
        read_part(failing[0])


def test_a_header_counts_the_instances_of_all_parts(tmp_path):
    (tmp_path / "x").write_bytes(b"4 9 9\n" + b"1 1:1\n" * 5)
    planned = plan_parts([tmp_path / "x"], 12)
    assert len(planned) == 3
    extents = [extent_of(read_part(part)) for part in planned]
    assert [extent.instances for extent in extents] == [1, 2, 2]
    with refused(InputError, "x:1: "):
        check_parts(planned, extents)


@pytest.mark.parametrize("header", [b"4 2 9\n", b"4 9 1\n"])
def test_the_features_and_labels_of_all_parts_are_held_to_the_header(tmp_path, header):
    (tmp_path / "x").write_bytes(b"# a comment\n" + header + b"1 1:1\n 1:1\n1 1:1\n 2:1\n")
    with refused(InputError, "x:2: "):
        read_in_parts([tmp_path / "x"], 8)


def test_a_file_may_be_empty_but_not_all(tmp_path):
    for name, content in {"a": b"", "b": b"# nothing\n", "c": LINES}.items():
        (tmp_path / name).write_bytes(content)
    assert_same(read_in_parts([tmp_path / name for name in "abc"], 10), read(tmp_path / "c"))
    with refused(InputError, "a:1: "):
        read_in_parts([tmp_path / "a", tmp_path / "b"], 10)


@pytest.mark.parametrize("kernel", kernels.AVAILABLE)
def test_a_part_is_as_wide_as_its_own_lines(tmp_path, kernel):
    (tmp_path / "x").write_bytes(LINES)
    with kernels.default(kernel):
        data = [read_part(part) for part in plan_parts([tmp_path / "x"], 20)]
    assert [found.features.shape for found in data] == [(2, 8), (1, 0), (2, 4)]
    assert [found.labels.shape for found in data] == [(2, 4), (1, 0), (2, 6)]
    assert {found.features.dtype for found in data} == {np.dtype(np.float32)}
