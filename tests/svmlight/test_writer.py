from collections.abc import Sequence
from io import BytesIO

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.reader import parse_block
from mpu_cli.svmlight.writer import score_lines, write_instances
from tests.hypotheses import examples
from tests.svmlight.reference import assert_same

values = st.floats(width=32, allow_nan=False, allow_infinity=False)
instances = st.lists(
    st.tuples(st.sets(st.integers(0, 50), max_size=4), st.dictionaries(st.integers(0, 2**31 - 2), values, max_size=4)),
    min_size=1,
    max_size=5,
)


def dataset(rows) -> Dataset:
    labels, features = zip(*rows, strict=True)
    return Dataset(csr([dict.fromkeys(row, True) for row in labels], bool), csr(features, np.float32))


def csr(rows: Sequence[dict[int, float]], dtype) -> csr_array:
    columns = [column for row in rows for column in sorted(row)]
    values = [row[column] for row in rows for column in sorted(row)]
    indptr, shape = np.cumsum([0, *map(len, rows)]).astype(np.int32), (len(rows), max(columns, default=-1) + 1)
    return csr_array((np.array(values, dtype), np.array(columns, np.int32), indptr), shape=shape)


@given(instances)
@settings(max_examples=examples(200), deadline=None)
def test_instances_read_back_equal(rows):
    written = BytesIO()
    write_instances(written, dataset(rows))
    assert_same(parse_block(written.getvalue(), 1, "file"), dataset(rows))


def test_instance_lines():
    written = BytesIO()
    write_instances(written, dataset([({3, 1}, {2: 0.1, 7: 1}), (set(), {4: -2.5e-10}), ({5}, {}), (set(), {})]))
    assert written.getvalue() == b"1,3 2:0.1 7:1\n 4:-2.5e-10\n5 \n \n"


def test_scores_bring_back_the_same_float32():
    probabilities = np.random.default_rng(0).random(2000, np.float32)
    line = score_lines(np.array([0, 2000]), np.arange(2000), probabilities)
    read = np.array([float(pair.partition(b":")[2]) for pair in line.split()], np.float32)
    assert np.array_equal(read, probabilities)
