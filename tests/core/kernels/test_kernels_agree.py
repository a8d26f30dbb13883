"""The compiled kernels do what the NumPy kernels do, to rounding; dual coordinate descent is that of LIBLINEAR."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.svm import LinearSVC

from mpu_cli.core.features import Features
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.kernels import Batches, descent, kernel, numpy_kernel
from mpu_cli.core.loss.squared_hinge import cell_weights
from mpu_cli.core.problem import VerifiedLabels
from mpu_cli.runtime.run import Run
from tests.hypotheses import examples
from tests.kernels import NUMBA

compiled = pytest.mark.skipif(not NUMBA, reason="no numba")


def problem(rng: np.random.Generator, n: int, D: int, d: int, q: int) -> tuple[Features, csr_array]:
    """Draw n instances with D sparse and d dense features, and annotations of q labels."""
    sparse = csr_array(rng.random((n, D), np.float32) * (rng.random((n, D)) < 0.3))
    return Features(sparse, rng.normal(size=(n, d)).astype(np.float32)), csr_array(rng.random((n, q)) < 0.3)


@st.composite
def problems(draw):
    """Features, annotations, which instances to learn from in which batches, frequencies, offsets and a seed."""
    n, q, seed = draw(st.integers(1, 40)), draw(st.integers(1, 9)), draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    features, annotated = problem(rng, n, draw(st.integers(0, 12)), draw(st.integers(0, 5)), q)
    batches = Batches(features, rng.permutation(n)[: max(1, n * 3 // 4)], draw(st.sampled_from([1, 3, 32])))
    cells = csr_array(rng.integers(4, size=(n, q)).astype(np.int8))
    verified = VerifiedLabels(cells, rng.choice(4, n, p=[0.6, 0, 0.3, 0.1]))
    rates = rng.uniform(0.2, 1, q).astype(np.float32)
    of_instances = rng.uniform(0.2, 1, n).astype(np.float32) if draw(st.booleans()) else None
    frequency = LabelFrequency(rates, verified if draw(st.booleans()) else None, of_instances)
    shift = rng.random((n, q), np.float32) * (rng.random((n, q)) < 0.4)
    offsets = csr_array(shift) if draw(st.booleans()) else None
    return features, (batches, frequency.positives(annotated), frequency), offsets, seed


@compiled
@settings(max_examples=examples(30), deadline=None)
@given(problems(), st.integers(1, 3), st.booleans(), st.sampled_from([0, 7]), st.booleans())
def test_descent_agrees(case, epochs, warm, seen, thin):
    from mpu_cli.core.kernels import numba_kernel

    features, given, offsets, seed = case
    rng, q = np.random.default_rng(seed), len(given[2].rates)
    bias = rng.normal(-6 if thin else 0, size=q).astype(np.float32)  # so that some instances have small gradients only
    weights = rng.normal(size=(features.width, q)).astype(np.float32) if warm else None
    of_caller = bias, features.sparse.data, features.dense
    before = [array.copy() for array in of_caller]
    results = [
        one.descend(
            *given,
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
        for one in (numpy_kernel, numba_kernel)
    ]
    for of_numpy, of_numba in zip(*results, strict=True):
        assert of_numba.dtype == np.float32
        assert_allclose(of_numba, of_numpy, rtol=1e-4, atol=1e-5)
    for array, as_it_was in zip(of_caller, before, strict=True):
        assert_array_equal(array, as_it_was)


@compiled
def test_a_gradient_that_is_not_compiled_is_followed_by_numpy():
    rng = np.random.default_rng(4)
    features, annotated = problem(rng, 20, 6, 2, 3)
    given = annotated, LabelFrequency(rng.uniform(0.2, 1, 3).astype(np.float32)), np.zeros(3, np.float32)
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


@compiled
@settings(max_examples=examples(30), deadline=None)
@given(problems(), st.integers(1, 3), st.sampled_from([0.01, 1.0, 1e38]))
def test_dual_descent_agrees(case, epochs, cost):
    from mpu_cli.core.kernels import numba_kernel

    _, given, offsets, seed = case
    results = [
        one.descend_dual(
            *given, cost=cost, bias_norm=0.7, epochs=epochs, rng=np.random.default_rng(seed), offsets=offsets
        )
        for one in (numpy_kernel, numba_kernel)
    ]
    for of_numpy, of_numba in zip(*results, strict=True):
        assert of_numba.dtype == of_numpy.dtype == np.float32
        assert np.isfinite(of_numpy).all()
        if cost < 1e38:
            assert_allclose(of_numba, of_numpy, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("c", [1.0, 0.4])
@pytest.mark.parametrize("cost", [0.02, 0.3])
def test_the_solution_is_that_of_liblinear_with_weights(c, cost):
    rng = np.random.default_rng(1)
    features, annotated = problem(rng, 150, 8, 3, 4)
    frequency = LabelFrequency(np.full(4, c, np.float32))
    weights, bias = kernel(Run()).descend_dual(
        Batches(features, np.arange(150), 32),
        annotated,
        frequency,
        cost=cost,
        bias_norm=4.0,
        epochs=400,
        rng=np.random.default_rng(0),
    )
    X = features.as_sparse().toarray().astype(float)
    for k, s in enumerate(annotated.toarray().T):
        of_cells = cell_weights(s, c)
        assert set(of_cells) == {2 / c - 1, 1.0}
        svm = LinearSVC(C=cost, loss="squared_hinge", intercept_scaling=2.0, tol=1e-10, max_iter=100_000)
        svm.fit(X, s, sample_weight=of_cells)
        assert_allclose(weights[:, k], svm.coef_[0], atol=2e-4)
        assert_allclose(bias[k], svm.intercept_[0], atol=2e-4)
