import numpy as np
from scipy.sparse import csr_array

from mpu_cli.errors import InputError
from mpu_cli.evaluation.incomplete import Propensities, jain_propensities
from tests.golden import refused


def test_annotations_are_counted_over_all_chunks():
    annotated = np.array([[1, 0, 0, 1], [1, 0, 0, 0], [0, 0, 0, 0], [1, 0, 1, 0]], bool)
    whole, *parts = csr_array(annotated), csr_array(annotated[:1]), csr_array(annotated[1:, :3])
    for chunks in ([whole], parts):
        found = Propensities.of_annotations(chunks, a=0.6, b=2.6)
        np.testing.assert_array_equal(found.labels, [0, 2, 3])
        expected = jain_propensities([3, 0, 1, 1, 0], 4, 0.6, 2.6)
        np.testing.assert_allclose(found.of(np.arange(5)), expected)


def test_a_label_without_a_propensity_is_named_with_the_file():
    known = Propensities(np.array([2, 5]), np.array([0.5, 0.25]), source="c.txt")
    np.testing.assert_array_equal(known.of(np.array([5, 2, 5])), [0.25, 0.5, 0.25])
    with refused(InputError, "c.txt: "):
        known.of(np.array([2, 9, 3]))
