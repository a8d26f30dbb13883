"""mpu: PU-SGD for all labels at once, stacked for label correlations (Kong et al. 2014), with the options of train."""

from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.options import Options
from mpu_cli.core.problem import Problem
from mpu_cli.core.stacking import train
from mpu_cli.errors import MpuError
from mpu_cli.runtime.options import options_of
from mpu_cli.runtime.run import DEFAULT_RUN, Run


class Method:
    """The learner of `mpu train`."""

    calibrated = True
    fixed: ClassVar[dict[str, Any]] = {}  # options that a subclass sets

    def __init__(self, run: Run = DEFAULT_RUN, **options: Any) -> None:
        declared = {name: option for name, option in options_of(Options).items() if name not in self.fixed}
        for name in options.keys() - declared.keys():
            raise MpuError(f"{name!r} is not an option; there are {', '.join(sorted(declared))}")
        self.options = Options(**self.fixed, **{name: declared[name].check(value) for name, value in options.items()})
        self.run = run

    def fit(self, X: csr_array, S: csr_array) -> None:
        """Learn."""
        self.model, result = train(Problem(X, S), self.options, self.run, calibrated=self.calibrated)
        self.c, self.threshold, self.held_out = result.chosen.c, self.model.thresholds, result.held_out

    def predict(self, X: csr_array) -> np.ndarray:
        """Return probabilities."""
        return self.model.probabilities(X, self.run)
