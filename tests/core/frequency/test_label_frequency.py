"""The label frequency of every cell, and verified labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.problem import VerifiedLabels
from mpu_cli.errors import MpuError
from tests.core.simulated import as_labels
from tests.core.verified import FALSE, UNKNOWN, by_definition, cells, true_by_definition, verified_of
from tests.golden import refused


@given(cells())
def test_every_cell_by_definition(case):
    S, verdicts, complete, rates = case
    s, c = by_definition(*case)
    frequency = LabelFrequency.of(rates, S.shape, verified_of(verdicts, complete))
    assert_allclose(frequency.of_cells(slice(None)), c, rtol=1e-7)
    assert_array_equal(frequency.positives(as_labels(S)).toarray(), s)
    ignored = np.zeros(S.shape, bool)
    ignored[frequency.ignored()] = True
    assert_array_equal(ignored, c == 0)
    true = true_by_definition(*case)
    by_chance, certain = (part.toarray() for part in frequency.by_chance_and_certain(as_labels(S)))
    assert_allclose(by_chance / rates + certain, true)
    assert_allclose(frequency.true_labels(as_labels(S)), true.sum(axis=0))
    assert_array_equal(frequency.cells(len(S)), (c > 0).sum(axis=0))


@given(cells(), st.data())
def test_rows_and_blocks_commute(case, data):
    S, verdicts, complete, rates = case
    n, q = S.shape
    rows = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=n, unique=True)))
    block = slice(*sorted(data.draw(st.tuples(st.integers(0, q), st.integers(0, q)))))
    frequency = LabelFrequency.of(rates, S.shape, verified_of(verdicts, complete))
    _, c = by_definition(*case)
    for part in (frequency.rows(rows).block(block), frequency.block(block).rows(rows)):
        assert_allclose(part.of_cells(slice(None)), c[rows][:, block], rtol=1e-7)
        assert_array_equal(
            part.positives(as_labels(S[rows][:, block])).toarray(),
            frequency.positives(as_labels(S)).toarray()[rows][:, block],
        )
    assert_allclose(frequency.of_cells(rows), c[rows], rtol=1e-7)


def test_large_collections_cost_what_is_known_of_them():
    n, q = 800_000, 100_000
    rng = np.random.default_rng(0)
    where = rng.integers(n, size=1000), rng.integers(q, size=1000)
    verified = VerifiedLabels.of((n, q), true=where, complete=np.arange(0, n, 2))
    part = LabelFrequency.of(0.5, (n, q), verified).rows(np.arange(1, n, 4)).block(slice(64, 128))
    assert (part.of_cells(slice(0, 10)).shape, verified.cells.nnz) == ((10, 64), 1000)


def test_complete_instances_by_number_or_by_truth_value():
    numbers, values = (
        VerifiedLabels.of((4, 3), complete=complete) for complete in ([1, 3], [False, True, False, True])
    )
    assert_array_equal(numbers.instances, values.instances)
    assert_array_equal(numbers.instances, [UNKNOWN, FALSE, UNKNOWN, FALSE])


@pytest.mark.parametrize("c", [0.0, 1.1, np.nan, [0.5, 0.0, 1.0]], ids=str)
def test_mistaken_frequencies(c):
    with refused(MpuError):
        LabelFrequency.of(c, (4, 3))
