"""Module for the server that cells are forked from: imports and runs once everything that a cell needs.

Compiled code is loaded when it first runs: here, once for all cells, and not in the times that they measure.
"""

from contextlib import suppress

import numpy as np
from scipy.sparse import csr_array

from mpu_cli import methods
from mpu_cli.core.problem import Problem
from mpu_cli.experiment import cell  # noqa: F401  (what the processes run)
from mpu_cli.runtime.options import options_of
from mpu_cli.runtime.run import Run

# The smallest values, of the methods that have these options.
_LEAST = {"c": 0.5, "cost": 1.0, "epochs": 1, "folds": 2}


def fit_toy(name: str) -> methods.Fitted:
    """Fit a method to four instances."""
    features = csr_array(np.eye(4, dtype=np.float32))
    labels = csr_array(np.eye(4, dtype=bool)[:, :2])
    declaration = methods.METHODS[name].options
    options = declaration(**{option: _LEAST[option] for option in options_of(declaration) if option in _LEAST})
    return methods.fit(name, Problem(features, labels), options, Run(jobs=1), features)


for _name in methods.METHODS:
    with suppress(Exception):  # a method may fail on so few instances; in a cell, a failure is recorded
        fit_toy(_name)
