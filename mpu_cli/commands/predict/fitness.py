"""Whether the data to be predicted are like those that it was trained on."""

from dataclasses import astuple, dataclass, field

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.bundle import TrainedModel
from mpu_cli.errors import counted

# Fewer instances may be unlike the others by chance.
_FEWEST_INSTANCES = 10
# docs/choices/texts.md, "Unknown features": test files that are like their training files have at most .027, and a
# warning every night is one that nobody reads.
_SOME_UNKNOWN = 0.05
# As many unknown features as this, and most of what is in the data is ignored.
_MANY_UNKNOWN = 0.5
# Instances of one kind of data are hardly ever so many times as long as others: less than 1.3 times on the sets of
# docs/choices/texts.md.
_OTHER_SCALE = 4.0
_SAYS = "THE MODEL DOES NOT FIT THE DATA, and predictions mean little"


@dataclass(frozen=True)
class Fitness:
    """What was counted in data that a model predicts."""

    # `entries`, `unknown`: feature values, and those of features that never occurred in training
    entries: int = 0
    unknown: int = 0
    filled: int = 0  # instances that have features
    # Sum of the squares of all feature values
    squares: float = field(default=0.0, compare=False)  # rounded by where the data are cut

    @classmethod
    def of(cls, model: TrainedModel, features: csr_array) -> "Fitness":
        """Count in some instances."""
        squares = float(np.square(features.data, dtype=float).sum())
        return cls(features.nnz, model.count_unknown(features), int((np.diff(features.indptr) > 0).sum()), squares)

    def __add__(self, other: "Fitness") -> "Fitness":
        """Add the numbers of two parts of the data."""
        return Fitness(*(mine + others for mine, others in zip(astuple(self), astuple(other), strict=True)))

    @property
    def _has_many_unknown(self) -> bool:
        return self.unknown >= _SOME_UNKNOWN * self.entries

    def _ignored(self) -> list[str]:
        ignored = f"{self.unknown:,} of {counted(self.entries, 'feature value')} ignored"
        return [f"{ignored}: their features never occurred in training"] if self.unknown else []

    def notes(self) -> list[str]:
        """Say what may be of interest, and is usual: that few features are unknown."""
        return [] if self._has_many_unknown else self._ignored()

    def warnings(self, model: TrainedModel) -> list[str]:
        """Say what is wrong: a word where many features are unknown, more where the model does not fit the data."""
        warnings = self._ignored() if self._has_many_unknown else []
        if self.filled < _FEWEST_INSTANCES:
            return warnings
        if self.unknown >= _MANY_UNKNOWN * self.entries:
            warnings.append(
                f"{_SAYS}: most of the features are unknown to it; number features as in the training file, such as by "
                "mpu vectorize --like"
            )
        trained = _length(model)
        times = np.sqrt(self.squares / self.filled) / trained if trained else 1.0
        if not 1 / _OTHER_SCALE < times < _OTHER_SCALE:
            warnings.append(
                f"{_SAYS}: instances are {times:.2g} times as long as those it was trained on; scale feature values as "
                "in the training file"
            )
        return warnings


def _length(model: TrainedModel) -> float | None:
    """Return the root of the mean squared length of the instances in training; None where the model does not tell."""
    scale, of_stack = getattr(model.predictor, "scale", None), model.options.get("stack_scale")
    if not isinstance(scale, float) or not isinstance(of_stack, float) or not of_stack:
        return None
    return scale / of_stack or None
