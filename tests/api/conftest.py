"""Labels half of whose annotations are missing."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def halved():
    """Features, true labels, and annotated ones: 600 instances, three labels that the features tell apart."""
    rng = np.random.default_rng(1)
    Y = rng.random((600, 3)) < 0.3
    X = Y + rng.normal(scale=0.2, size=Y.shape)
    return X, Y, (Y & (rng.random(Y.shape) < 0.5)).astype(int)
