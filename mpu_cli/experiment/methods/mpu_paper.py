"""mpu-paper: Kong et al. 2014 as published: one stacked level, logistic, one c by e1, a threshold of 0.5."""

from dataclasses import replace

from scipy.sparse import csr_array

from mpu_cli.core.options import LINEAR
from mpu_cli.core.problem import Problem
from mpu_cli.experiment.methods import mpu
from mpu_cli.people.posteriors import Scored


class Method(mpu.Method):
    """The paper's MPU, with the options of mpu that are not fixed here."""

    calibrated = False
    fixed = {"loss": "pu-logistic", "levels": 2, "threshold": 0.5, "features": LINEAR}  # noqa: RUF012

    def fit(self, X: csr_array, S: csr_array) -> None:
        """Learn."""
        c = Scored(Problem(X, S), self.options, self.run).estimates("e1").overall.c
        self.options = replace(self.options, c=c)
        super().fit(X, S)
