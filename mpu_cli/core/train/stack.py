"""The levels that a training has learned so far, and what their held-out predictions say of them."""

from dataclasses import dataclass

from mpu_cli.core.data.predictions import HeldOut
from mpu_cli.core.model.bins import BinnedCells
from mpu_cli.core.model.calibration import AnyCalibration, Calibration, calibrate_binned, calibrate_strata
from mpu_cli.core.model.linear import LinearModel
from mpu_cli.core.model.thresholds import Decision, Evidence, best_threshold, decide
from mpu_cli.core.train.levels import Level
from mpu_cli.runtime.parallel import Handle


@dataclass(frozen=True)
class _Learned:
    """The last level, which may become that of the model.

    Attributes
    ----------
    level : Level
    counted : BinnedCells
    calibration : Calibration, StratifiedCalibration or None
        What makes probabilities of its predictions.
    held_out : list of Handle
    """

    level: Level
    counted: BinnedCells
    calibration: AnyCalibration | None
    held_out: list[Handle]


class Stack:
    """Levels, in the order in which they are learned.

    Parameters
    ----------
    may_drop : bool
        Whether a level that is worth less than the one below may be left out.

    Attributes
    ----------
    models : list of LinearModel
    calibrations : list of (Calibration or None)
        What makes probabilities of the predictions of each level but the last.
    level_f1 : list of float
        Micro-F1 to expect on complete labels of each level at its best pooled threshold, also of one that was dropped.
    """

    def __init__(self, may_drop: bool) -> None:
        self._may_drop = may_drop
        self.models: list[LinearModel] = []
        self.calibrations: list[Calibration | None] = []
        self.level_f1: list[float] = []
        self._learned: list[_Learned] = []  # the last one, and the one below where it may take its place
        self._evidence: Evidence | None = None

    def add(self, level: Level, model: LinearModel, held_out: list[Handle]) -> None:
        """Put a level on top."""
        counted = level.count(held_out)
        candidates = counted if level.top is None else counted.kept()
        calibration = calibrate_strata(candidates, level.instances.positives_of_labels())
        _, f1 = best_threshold(counted, calibration)
        self.models.append(model)
        self.level_f1.append(min(f1, 1.0))  # an estimate by few labels may exceed it
        self._learned.append(_Learned(level, counted, calibration, held_out))

    def next_level(self, scale: float, enough: int) -> Level:
        """Return the next level, which learns from the calibrated predictions of the last one too.

        Of many labels, predictions are features as they are.
        """
        last = self._learned[-1]
        calibration = None
        if last.level.top is None:
            calibration = calibrate_binned(last.counted)
        self.calibrations.append(calibration)
        above = last.level.above(last.held_out, calibration, scale, enough)
        if not (self._may_drop and above.is_honest):
            self._learned.clear()  # and what they hold in memory
        return above

    def drop_idle_level(self) -> None:
        """Leave out the last level where the one below is worth more, and that can be compared."""
        if len(self._learned) > 1 and self.level_f1[-1] < self.level_f1[-2]:
            for of_levels in (self._learned, self.models, self.calibrations):
                of_levels.pop()

    def decide(self, criterion: str | float, calibrated: bool) -> Decision:
        """Make the predictions of the last level probabilities, and choose thresholds."""
        last = self._learned[-1]
        self._learned.clear()
        self._evidence = last.level.fetch(last.held_out)
        calibration = last.calibration if calibrated else None
        threshold, _ = best_threshold(last.counted, calibration)
        return decide(self._evidence, threshold, criterion, last.level.instances.annotated, calibration)

    @property
    def held_out(self) -> HeldOut:
        """Return the predictions by which thresholds were chosen."""
        if self._evidence is None:
            raise ValueError("nothing is decided yet")
        return self._evidence.held_out
