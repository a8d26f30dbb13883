import errno
import os
import signal
import subprocess
import sys
import tempfile

import numpy as np
import pytest

from mpu_cli.errors import MpuError
from mpu_cli.runtime.storage import Workspace, available_memory

MEGABYTE = 1_000_000


def is_mapped(array: np.ndarray) -> bool:
    return isinstance(array.base, np.memmap)


@pytest.fixture
def directory(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_arrays_are_in_memory_up_to_the_limit_and_in_files_beyond():
    workspace = Workspace(10 * MEGABYTE)
    first = workspace.empty((1000, 1000), np.float32)
    second = workspace.empty(MEGABYTE, np.float64)
    third = workspace.empty(6 * MEGABYTE, bool)
    assert [is_mapped(array) for array in (first, second, third)] == [False, True, False]


def test_arrays_that_are_no_longer_used_do_not_count():
    workspace = Workspace(MEGABYTE)
    array = workspace.empty(MEGABYTE, bool)
    view = array[10:]
    del array
    assert is_mapped(workspace.empty(MEGABYTE, bool))
    del view
    assert not is_mapped(workspace.empty(MEGABYTE, bool))


@pytest.mark.parametrize("shape", [0, 3000, (3000,), (0, 7), (500, 7), (20, 30, 4)])
@pytest.mark.parametrize("dtype", [bool, np.int32, np.float32, np.float64])
@pytest.mark.parametrize("limit", [0, MEGABYTE])
def test_arrays_are_plain_and_can_be_written(shape, dtype, limit):
    array = Workspace(limit).empty(shape, dtype)
    like = np.empty(shape, dtype)
    assert type(array) is np.ndarray
    assert (array.shape, array.dtype, array.strides) == (like.shape, like.dtype, like.strides)
    assert array.flags.writeable and array.flags.aligned
    array[...] = 1
    assert (array == 1).all()


def test_files_have_no_name(directory):
    array = Workspace(0).empty(MEGABYTE, bool)
    array[:] = True
    assert is_mapped(array)
    assert not list(directory.iterdir())


def test_nothing_is_left_of_a_process_that_was_killed(tmp_path):
    code = """if True:
        import os, signal
        from mpu_cli.runtime.storage import Workspace
        array = Workspace(0).empty(10**6)
        array[:] = 1
        os.kill(os.getpid(), signal.SIGKILL)
    """
    ended = subprocess.run([sys.executable, "-c", code], env=os.environ | {"TMPDIR": str(tmp_path)}, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_an_error_that_names_the_directory(directory, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(MpuError) as caught:
        Workspace(0).empty(3 * MEGABYTE, bool)
    assert str(caught.value).startswith(f"{directory}: 3 MB of temporary data cannot be written: No space left")
    assert "TMPDIR" in str(caught.value)


def test_available_memory_is_part_of_the_machine_s():
    assert 0 < available_memory() <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
