import io
import warnings

import numpy as np
import pytest

from mpu_cli.runtime.untrusted import read_npy


@pytest.mark.parametrize("array", [np.ones(3), np.ones((2, 3), np.float32), np.ones((3, 2), bool).T, np.ones(0)])
def test_an_array_comes_back(array):
    file = io.BytesIO()
    np.save(file, array)
    file.seek(0)
    np.testing.assert_array_equal(read_npy(file, "x", array.dtype.type, array.shape), array)


@pytest.mark.parametrize(
    "header",
    [
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (3L,), }",
        b"(" * 9000,
        b"-" * 60_000 + b"1",
        b"[" * 99 + b"]" * 99,
        b"\0",
        b"",
    ],
)
def test_a_header_that_is_none_is_an_error_and_no_warning(header):
    """Python 2 wrote the first."""
    data = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(24)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with pytest.raises(ValueError):
            read_npy(io.BytesIO(data), "x", np.float64, (3,))
    assert not said
