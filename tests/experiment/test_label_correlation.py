"""The prior of label correlations."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import cosine_similarity as cosines

from mpu_cli.experiment.methods.m3l_linear import correlation_prior, cosine_similarity
from tests.core.simulated import as_labels


def test_similarity_is_the_cosine_of_label_columns():
    Y = np.random.default_rng(0).random((30, 5)) < 0.4
    assert_allclose(cosine_similarity(as_labels(Y)), cosines(Y.T.astype(float)), atol=1e-12)


def test_a_label_that_nothing_has_is_like_itself_only():
    assert_allclose(cosine_similarity(as_labels([[1, 1, 0], [1, 1, 0]])), [[1, 1, 0], [1, 1, 0], [0, 0, 1]])


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.99])
def test_the_prior_is_positive_definite(rho):
    Y = np.random.default_rng(1).random((40, 6)) < 0.3
    Y[:, 5] = Y[:, 4]  # two labels that are the same
    prior = correlation_prior(as_labels(Y), rho)
    eigenvalues = np.linalg.eigvalsh(prior)
    assert eigenvalues.min() >= 1 - rho - 1e-9
    assert_allclose(np.diagonal(prior), 1)
    assert_allclose(prior[4, 5], rho)
