import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from mpu_cli.errors import InputError, MpuError
from mpu_cli.evaluation.propensities import Propensities, jain_propensities
from tests.golden import refused


@given(
    st.lists(st.integers(0, 10**6), min_size=1, max_size=5),
    st.integers(3, 10**7),
    st.floats(0, 10),
    st.floats(0.001, 1e6),
)
def test_the_model_by_its_formula(counts, instances, a, b):
    found = jain_propensities(counts, instances, a, b)
    scale = (math.log(instances) - 1) * (b + 1) ** a
    for count, propensity in zip(counts, found.tolist(), strict=True):
        assert propensity == pytest.approx(1 / (1 + scale * math.exp(-a * math.log(count + b))), rel=1e-9)
        assert 0 < propensity <= 1


@pytest.mark.parametrize("instances", [0, 1, 2])
def test_too_few_instances_for_a_model(instances):
    with refused(MpuError):
        jain_propensities([1], instances)


def test_annotations_are_counted_over_all_chunks():
    annotated = np.array([[1, 0, 0, 1], [1, 0, 0, 0], [0, 0, 0, 0], [1, 0, 1, 0]], bool)
    whole, *parts = csr_array(annotated), csr_array(annotated[:1]), csr_array(annotated[1:, :3])
    for chunks in ([whole], parts):
        found = Propensities.of_annotations(chunks, a=0.6, b=2.6)
        np.testing.assert_array_equal(found.labels, [0, 2, 3])
        expected = 1 / jain_propensities([3, 0, 1, 1, 0], 4, 0.6, 2.6)
        np.testing.assert_allclose(found.inverse(np.arange(5)), expected)


def test_a_label_without_a_propensity_is_named_with_the_file():
    known = Propensities(np.array([2, 5]), np.array([0.5, 0.25]), source="c.txt")
    np.testing.assert_array_equal(known.inverse(np.array([5, 2, 5])), [4, 2, 4])
    with refused(InputError, "c.txt: "):
        known.inverse(np.array([2, 9, 3]))
