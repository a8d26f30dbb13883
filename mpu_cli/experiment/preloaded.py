"""Imported by the server that cells are forked from: everything that a cell needs is loaded, and has run once.

Compiled code is loaded when it first runs: here once for all cells, and outside of what they measure.
"""

from contextlib import suppress

import numpy as np
from scipy.sparse import csr_array

from mpu_cli import methods
from mpu_cli.core.training import Options
from mpu_cli.experiment import cell  # noqa: F401  (what the processes run)
from mpu_cli.runtime.run import Run

_TRAINING = Options(c=0.5, cost=1.0, epochs=1, folds=2)


def fit_toy(name: str) -> methods.Fitted:
    """Fit a method to four instances."""
    features = csr_array(np.eye(4, dtype=np.float32))
    labels = csr_array(np.eye(4, dtype=bool)[:, :2])
    return methods.fit(name, features, labels, methods.MethodOptions(_TRAINING), Run(jobs=1), features)


for _name in methods.NAMES:
    with suppress(Exception):  # a method that fails on so little is no reason to stop; in a cell, it is recorded
        fit_toy(_name)
