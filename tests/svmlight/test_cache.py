import io
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from mpu_cli.errors import InputError, MpuError
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight import cache, reader
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.grammar import Reading
from tests.golden import refused
from tests.hypotheses import examples
from tests.svmlight.same import assert_same

TEXT = b"0,2 1:0.5 4:2\n 2:1\n2\n\n1 3:0.25\n"


@pytest.fixture
def source(tmp_path) -> Path:
    path = tmp_path / "data.svm"
    path.write_bytes(TEXT)
    return path


@pytest.fixture
def directory(tmp_path) -> Path:
    return tmp_path / "made" / "cache"


@pytest.fixture
def parsed(monkeypatch) -> list:
    """What `reader.read` was asked for from now on."""
    calls = []
    read = reader.read
    monkeypatch.setattr(reader, "read", lambda *args: calls.append(args) or read(*args))
    return calls


def entries(directory: Path) -> list[Path]:
    return sorted(directory.iterdir())


def rewritten(source: Path, text: bytes) -> None:
    """Replace the text, but not the time."""
    status = source.stat()
    source.write_bytes(text)
    os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_a_file_is_parsed_once(source, directory, parsed):
    first = cache.read(source, directory=directory)
    second = cache.read(source, directory=directory)
    assert len(parsed) == 1
    for data in (first, second):
        assert_same(data, reader.read(source))


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(st.sampled_from([b"0,2 1:0.5 4:2", b"", b" 7:1", b"3", b"1,70000 0:0 9:-3e9 # what"]), min_size=1))
def test_entries_are_what_was_parsed(tmp_path_factory, lines):
    folder = tmp_path_factory.mktemp("data")
    (folder / "data.svm").write_bytes(b"\n".join(lines) + b"\n")
    cache.read(folder / "data.svm", directory=folder)
    data = cache.read(folder / "data.svm", directory=folder)
    assert_same(data, reader.read(folder / "data.svm"))
    assert data.features.data.flags.writeable  # the compiled kernels take no others


def test_changes_to_the_arrays_stay_with_the_reader(source, directory):
    cache.read(source, directory=directory)
    cache.read(source, directory=directory).features.data[:] = 0
    assert_same(cache.read(source, directory=directory), reader.read(source))


@pytest.mark.parametrize(
    "change",
    [
        lambda source: rewritten(source, TEXT + b"5 1:1\n"),
        lambda source: rewritten(source, TEXT.replace(b"0.25", b"0.35")),
        lambda source: os.utime(source, ns=(0, source.stat().st_mtime_ns + 1)),
    ],
    ids=["size", "content", "time"],
)
def test_a_changed_file_is_parsed_again(source, directory, parsed, change):
    cache.read(source, directory=directory)
    change(source)
    assert_same(cache.read(source, directory=directory), reader.read(source))
    cache.read(source, directory=directory)
    assert len(parsed) == 3  # one of them by this test
    assert len(entries(directory)) == 1


def test_a_change_inside_of_a_large_file_is_seen(tmp_path, parsed):
    source = tmp_path / "data.svm"
    source.write_bytes(b"1 2:0.5\n" * 8000)
    cache.read(source, directory=tmp_path)
    rewritten(source, b"1 2:0.5\n" * 4000 + b"1 2:0.7\n" * 4000)
    assert cache.read(source, directory=tmp_path).features.data[-1] == np.float32(0.7)
    assert len(parsed) == 2


def test_a_file_that_changes_while_it_is_read_is_not_kept(source, directory, monkeypatch):
    read = reader.read

    def read_and_change(*args):
        data = read(*args)
        source.write_bytes(TEXT + b"9\n")
        return data

    monkeypatch.setattr(reader, "read", read_and_change)
    assert len(cache.read(source, directory=directory)) == 5
    assert not entries(directory)


def test_each_way_to_read_has_an_entry(source, directory, parsed):
    source.write_bytes(b"1 2:1\n3 4\n")
    reading = Reading(implicit_values=True)
    cache.read(source, reading, directory=directory)
    with refused(InputError, "data.svm:2"):
        cache.read(source, directory=directory)
    cache.read(source, replace(reading, max_line_bytes=100), directory=directory)
    cache.read(source, reading, directory=directory)
    assert len(parsed) == 3


def test_files_of_the_same_name_do_not_mix(tmp_path, directory, monkeypatch):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "data.svm").write_text(f"1 2:{ord(name)}\n")
        monkeypatch.chdir(tmp_path / name)
        assert cache.read("data.svm", directory=directory).features.data.tolist() == [ord(name)]


def test_damage_is_found_and_repaired(source, directory):
    expected = cache.read(source, directory=directory)
    (entry,) = entries(directory)
    sound = entry.read_bytes()
    for place in range(0, len(sound), 3):
        entry.write_bytes(sound[:place] + bytes([sound[place] ^ 0x10]) + sound[place + 1 :])
        assert_same(cache.read(source, run=Run(jobs=1), directory=directory), expected)
    for length in range(0, len(sound), 30):
        entry.write_bytes(sound[:length])
        assert_same(cache.read(source, run=Run(jobs=1), directory=directory), expected)


@pytest.mark.parametrize(
    ("indices", "indptr"),
    [
        ([0, 7], [0, 1, 2]),
        ([0, -1], [0, 1, 2]),
        ([0, 1], [0, 3, 2]),
        ([0, 1], [0, 1, 9]),
        ([0, 1], [0, 2**32 + 1, 2]),
        ([0, 1], [0, 1 - 2**32, 2]),
        ([0, 1], [0, 1, 2**32 + 2]),
    ],
    ids=[
        "index too large",
        "negative index",
        "rows out of order",
        "row beyond the end",
        "row that 32 bits bring back",
        "row that 32 bits bring back from below",
        "end that 32 bits bring back",
    ],
)
def test_impossible_matrices_are_not_used(source, directory, indices, indptr):
    """However they came into an entry, with checksums that are right: a compiled kernel would read anywhere."""
    sound = reader.read(source)
    features = csr_array((2, 5), dtype=np.float32)
    features.data = np.ones(2, np.float32)
    features.indices, features.indptr = np.array(indices, np.int32), np.array(indptr, np.int64)
    directory.mkdir(parents=True)
    key = cache._key(source, Reading())
    cache._save(Dataset(sound.labels[:2], features), cache._entry(directory, key), key)
    assert_same(cache.read(source, directory=directory), sound)


def test_entries_of_another_format_are_not_used(source, directory, parsed, monkeypatch):
    cache.read(source, directory=directory)
    monkeypatch.setattr(cache, "FORMAT_VERSION", cache.FORMAT_VERSION + 1)
    cache.read(source, directory=directory)
    cache.read(source, directory=directory)
    assert len(parsed) == 2


def test_standard_input_is_not_kept(directory, monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(TEXT))
    monkeypatch.setattr(sys, "stdin", stream)
    assert len(cache.read("-", directory=directory)) == 5
    assert not directory.exists()


def test_bad_input_fails_as_without_a_cache(source, directory):
    source.write_bytes(b"1 2:1\n1 2:x\n")
    with refused(InputError, "data.svm:2"):
        cache.read(source, directory=directory)
    assert not entries(directory)
    with refused(InputError):
        cache.read(source.with_name("missing.svm"), directory=directory)


def test_a_directory_that_cannot_be_made_is_an_error(source):
    with refused(MpuError):
        cache.read(source, directory=source / "cache")


def test_processes_that_read_at_once_do_not_disturb_each_other(source, directory):
    source.write_bytes(TEXT * 2000)
    code = """if True:
        import sys
        from pathlib import Path
        from mpu_cli.runtime.run import Run
        from mpu_cli.svmlight import cache
        for _ in range(4):
            data = cache.read(sys.argv[1], run=Run(kernel="numpy"), directory=Path(sys.argv[2]))
            print(len(data), data.features.nnz, data.features.sum(), data.labels.nnz)
            for path in Path(sys.argv[2]).glob("*.mpu-cache"):
                path.unlink(missing_ok=True)
    """
    command = [sys.executable, "-c", code, str(source), str(directory)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    outputs = {process.communicate()[0] for process in processes}
    data = reader.read(source)
    assert outputs == {f"{len(data)} {data.features.nnz} {data.features.sum()} {data.labels.nnz}\n" * 4}
    assert not entries(directory)
