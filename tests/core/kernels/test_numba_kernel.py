"""The compiled kernel does what the NumPy kernel does, to rounding."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, random_array

from mpu_cli.core.kernels import Batches, descent, numpy_kernel
from mpu_cli.runtime.run import Run
from tests.core.kernels.problems import problem, random_frequency
from tests.hypotheses import examples

pytest.importorskip("numba")
from mpu_cli.core.kernels import numba_kernel


@settings(max_examples=examples(30), deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 40),
    D=st.integers(0, 12),
    d=st.integers(0, 5),
    q=st.integers(1, 9),
    size=st.sampled_from([1, 3, 32]),
    epochs=st.integers(1, 3),
    warm=st.booleans(),
    seen=st.sampled_from([0, 7]),
    knowing=st.booleans(),
    shifted=st.booleans(),
    thin=st.booleans(),
)
def test_descend_agrees_with_numpy(seed, n, D, d, q, size, epochs, warm, seen, knowing, shifted, thin):
    rng = np.random.default_rng(seed)
    features, annotated = problem(rng, n, D, d, q)
    rows = rng.permutation(n)[: max(1, n * 3 // 4)]
    frequency = random_frequency(rng, n, q, knowing)
    bias = rng.normal(-6 if thin else 0, size=q).astype(np.float32)  # so that some instances have small gradients only
    weights = rng.normal(size=(D + d, q)).astype(np.float32) if warm else None
    offsets = csr_array(random_array((n, q), density=0.4, rng=rng, dtype=np.float32)) if shifted else None
    given = bias, features.sparse.data, features.dense
    before = [array.copy() for array in given]
    results = [
        kernel.descend(
            Batches(features, rows, size),
            frequency.positives(annotated),
            frequency,
            bias,
            step=0.05,
            bias_step=0.02,
            decay=0.1,
            epochs=epochs,
            rng=np.random.default_rng(seed),
            weights=weights,
            seen=seen,
            offsets=offsets,
            thin=thin,
        )
        for kernel in (numpy_kernel, numba_kernel)
    ]
    for of_numpy, of_numba in zip(*results, strict=True):
        assert of_numba.dtype == np.float32
        assert_allclose(of_numba, of_numpy, rtol=1e-4, atol=1e-5)
    for array, as_it_was in zip(given, before, strict=True):  # the caller's
        assert_array_equal(array, as_it_was)


def test_a_gradient_that_is_not_compiled_is_followed_by_numpy():
    rng = np.random.default_rng(4)
    features, annotated = problem(rng, 20, 6, 2, 3)
    given = annotated, random_frequency(rng, 20, 3, False), np.zeros(3, np.float32)
    results = [
        descent(Run(kernel=name), lambda z, s, c: z - s)(
            Batches(features, np.arange(20), 4),
            *given,
            step=0.1,
            bias_step=0.1,
            decay=0.0,
            epochs=2,
            rng=np.random.default_rng(5),
        )
        for name in ("numpy", "numba")
    ]
    for of_numpy, of_numba in zip(*results, strict=True):
        assert_array_equal(of_numba, of_numpy)
