"""Random problems on which kernels are compared."""

import numpy as np
from scipy.sparse import csr_array, random_array

from mpu_cli.core.features import Features
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.labels.verified import VerifiedLabels


def problem(rng: np.random.Generator, n: int, D: int, d: int, q: int) -> tuple[Features, csr_array]:
    """Draw n instances with D sparse and d dense features, and annotations of q labels."""
    sparse = random_array((n, D), density=0.3, rng=rng, dtype=np.float32, format="csr")
    return Features(csr_array(sparse), rng.normal(size=(n, d)).astype(np.float32)), csr_array(rng.random((n, q)) < 0.3)


def random_frequency(rng: np.random.Generator, n: int, q: int, knowing: bool) -> LabelFrequency:
    """Draw label frequencies and, if so asked, verdicts on cells and instances."""
    cells = csr_array(rng.integers(4, size=(n, q)).astype(np.int8))
    verified = VerifiedLabels(cells, rng.choice(4, n, p=[0.6, 0, 0.3, 0.1]))
    return LabelFrequency(rng.uniform(0.2, 1, q).astype(np.float32), verified if knowing else None)
