"""The result of a training."""

from dataclasses import dataclass

import numpy as np

from mpu_cli.core.predictions import HeldOut
from mpu_cli.core.selection import Estimates, HyperParameters
from mpu_cli.core.sgd import Settings
from mpu_cli.core.thresholds import Decision


@dataclass(frozen=True, kw_only=True)
class TrainingResult:
    """What a training estimated and chose."""

    c: np.ndarray  # shape (q,): label frequency of each label, where the label is not verified
    estimates: Estimates  # where it comes from
    settings: Settings  # of the levels, with the number of epochs
    # Micro-F1 to expect on complete labels of each level at its best pooled threshold: out of fold, corrected for the
    # missing labels. Of levels that were tried; the model may have one less.
    level_f1: list[float]
    expected_f1: float  # the same for the last level at the thresholds of the model
    # Of `expected_f1`, 90 %: by the sampling of instances, and by the interval of c where c was estimated
    f1_interval: tuple[float, float]
    # Out-of-fold predictions of the last level, calibrated, that its thresholds were chosen on: of all instances
    # where each label gets a threshold of its own, or where all were asked for
    held_out: HeldOut
    seconds: dict[str, float]  # wall time of each step
    scaling: str | None = None  # of the features that it was learned from, one of `SCALINGS`; None: as in the data

    @classmethod
    def of(
        cls,
        chosen: HyperParameters,
        level_f1: list[float],
        held_out: HeldOut,
        decision: Decision,
        seconds: dict[str, float],
    ) -> "TrainingResult":
        """Return the result of a training whose thresholds are decided."""
        return cls(
            c=chosen.rates,
            estimates=chosen.estimates,
            settings=chosen.settings,
            level_f1=level_f1,
            expected_f1=min(decision.expected.f1, 1.0),
            f1_interval=decision.expected.interval(chosen.estimates.range_of_c),
            held_out=held_out,
            seconds=seconds,
        )

    def warnings(self) -> list[str]:
        """Say what to know before trusting the model."""
        return self.estimates.warnings()
