import gzip

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mpu_cli.errors import InputError
from mpu_cli.inputs.side_tables import frequency_lines, read_frequencies
from mpu_cli.runtime.options import LEAST_FREQUENCY
from tests.golden import refused

IDS = np.array([3, 12])


@pytest.fixture
def file(tmp_path):
    """Write lines to a file of frequencies; give its path."""

    def write(text: bytes):
        path = tmp_path / "c.txt"
        path.write_bytes(text)
        return path

    return write


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
    assert read_frequencies(file(text), IDS).tolist() == expected


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
        read_frequencies(file(text), IDS)
