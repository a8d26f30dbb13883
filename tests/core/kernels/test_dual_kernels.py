"""Dual coordinate descent: both kernels against each other, and against LIBLINEAR."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.sparse import csr_array, random_array
from sklearn.svm import LinearSVC

from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.kernels import Batches, kernel, numpy_kernel
from mpu_cli.core.loss.squared_hinge import cell_weights
from mpu_cli.runtime.run import Run
from tests.core.kernels.problems import problem, random_frequency
from tests.hypotheses import examples


@settings(max_examples=examples(30), deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 40),
    D=st.integers(0, 12),
    d=st.integers(0, 5),
    q=st.integers(1, 9),
    size=st.sampled_from([1, 3, 32]),
    epochs=st.integers(1, 3),
    cost=st.sampled_from([0.01, 1.0, 1e38]),
    knowing=st.booleans(),
    shifted=st.booleans(),
)
def test_kernels_agree(seed, n, D, d, q, size, epochs, cost, knowing, shifted):
    numba_kernel = pytest.importorskip("mpu_cli.core.kernels.numba_kernel")

    rng = np.random.default_rng(seed)
    features, annotated = problem(rng, n, D, d, q)
    rows = rng.permutation(n)[: max(1, n * 3 // 4)]
    frequency = random_frequency(rng, n, q, knowing)
    offsets = csr_array(random_array((n, q), density=0.4, rng=rng, dtype=np.float32)) if shifted else None
    results = [
        kernels.descend_dual(
            Batches(features, rows, size),
            frequency.positives(annotated),
            frequency,
            cost=cost,
            bias_norm=0.7,
            epochs=epochs,
            rng=np.random.default_rng(seed),
            offsets=offsets,
        )
        for kernels in (numpy_kernel, numba_kernel)
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
