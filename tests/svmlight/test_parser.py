"""The parsers, of usual lines and the compiled one, are held to the reference grammar and to scikit-learn."""

from io import BytesIO

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from mpu_cli.svmlight import reader
from mpu_cli.svmlight.grammar import Reading
from mpu_cli.svmlight.reader import parse_block
from tests.hypotheses import examples
from tests.svmlight.generated import blocks
from tests.svmlight.reference import parsed_block, reference_block

pytestmark = pytest.mark.usefixtures("kernel")
readings = st.builds(Reading, implicit_values=st.booleans(), labels=st.booleans())


@given(blocks() | st.binary(max_size=60), readings)
@example(b"0\r#20:.5 \n", Reading())
@example(b"1 1:1e-5.3\n", Reading())
@example(b"1 1:1e-5e5\n", Reading())
@example(b"1 1:1-2\n", Reading())
@example(b"1 1:1e1-2\n", Reading())
@example(b"1 1:-+2\n", Reading())
@example(b"1 1:.\n", Reading())
@example(b"", Reading())
@example(b"\r", Reading())
@example(b"1 1:9999999999999999999 2:99999999999999999999\n", Reading())
@example(b"1 0000000000000000000000001:1\n", Reading())
@example(b"0000000000000000000000001 1:1\n", Reading())
@example(b"1,18446744073709551617 1:1\n", Reading())
@example(b"1,\n", Reading())
@example(b"1,2:3\n", Reading())
@example(b"1 2: 3:1\n", Reading())
@example(b"1 1:1e\n", Reading())
@example(b"1 1:1e+\n", Reading())
@example(b"1 1:3.4028235677973366e38\n", Reading())
@example(b"1 1:34028235677973366e22\n", Reading())
@example(b"1 2,3\n", Reading(implicit_values=True))
@example(b"5#1:2\r\n6\t\t7:1\t#\n#\r\n8 9:1\r\n\r", Reading())
@example(b"1, 2.0 ,+3 4:1\n+1 2:1\n1.,2.00\t3:1\n 5:1\n", Reading())
@example(b"1, 2 3 4\n", Reading(implicit_values=True))
@example(b"1 2:1\n1, 2:1\n", Reading())
@example(b"3,3,2 7:1 5:2 7:1.0\n\n2,2 5:1 5:1\n", Reading())
@example(b"1,0,1 5:1\n", Reading())
@example(b"2,5 7:0.1 7:0.10000000001\n", Reading())
@example(b"-1 2:1\n?\t2:1\nsport,arts 3:1\na, b 3:1\n3:0.5,4:1 5:1\n5,5 1:1\n", Reading(labels=False))
@example(b"-1 2:1\n-1\n? \r\n?# x\nx\n", Reading(labels=False))
@example(b"1 2 3:1\n", Reading(labels=False))
@example(b"1:0,5 2:0,7\n", Reading(labels=False))
@settings(max_examples=examples(600), deadline=None)
def test_parser_equals_the_reference(block, reading):
    assert parsed_block(block, reading, 5) == reference_block(block, reading, 5)


@pytest.mark.parametrize(
    "block",
    [
        b"1,2 1:0.5 7:-3e-4\r\n# comment\r\n\t4:.5 # more\r\n3",
        b"1,2 1:1 7:1e5\n2:2 1:3\n\n \n",
        b"1 1:0.1234567890123456789012 2:1e-40 3:1.000000059604644775\n",
        b"1, 2.0,+7 1:0.5\n3 4:1 2:1\n",
    ],
)
def test_common_forms_need_no_reference(block, monkeypatch):
    expected = reference_block(block, Reading())
    monkeypatch.delattr(reader, "parse_line")
    assert parsed_block(block, Reading()) == expected


def test_leading_zeros_do_not_make_a_value_too_precise_for_the_compiled_parser():
    compiled = pytest.importorskip("mpu_cli.svmlight.numba_parser")
    assert compiled.parse(b"1 1:0.0001234567890123457\n", False).features.data == np.float32(0.0001234567890123457)


def test_values_are_bit_for_bit_those_of_scikit_learn():
    """Values of up to 19 digits, many of them in or next to the middle of two neighbouring float32."""
    rng = np.random.default_rng(0)
    low = rng.uniform(0.001, 1000, 1000).astype(np.float32)
    middle = (low.astype(float) + np.nextafter(low, np.float32(np.inf)).astype(float)) / 2
    values = np.concatenate((rng.uniform(-1, 1, 1000), middle, np.nextafter(middle, 0), np.nextafter(middle, 1e9)))
    texts = [f"{value:.{digits}g}" for value in values for digits in (6, 9, 15, 16, 17, 18, 19)]
    exponents = [f"{value:.{digits}e}" for value in values[::7] for digits in (2, 8, 14, 15, 16, 17, 18)]
    texts += exponents + [repr(value) for value in values.tolist()]
    block = b"".join(b"1 0:%s\n" % text.encode() for text in texts)
    theirs, _ = load_svmlight_file(BytesIO(block), multilabel=True, zero_based=True, dtype=np.float32)
    ours = parse_block(block, 1, "file").features
    assert np.array_equal(ours.data.view(np.uint32), theirs.data.view(np.uint32))
    assert np.array_equal(ours.data, np.array(texts, float).astype(np.float32))


def test_shapes_and_types():
    dataset = parse_block(b"4 9:1\n\n", 1, "file")
    assert (dataset.labels.shape, dataset.features.shape) == ((2, 5), (2, 10))
    assert (dataset.labels.dtype, dataset.features.dtype) == (bool, np.float32)
    assert dataset.features.indices.dtype == dataset.features.indptr.dtype == np.int32
