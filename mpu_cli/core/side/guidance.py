"""The prior and the negative sample of the labels of a level."""

from dataclasses import dataclass

from mpu_cli.core.data.predictions import Predictions
from mpu_cli.core.side.prior import Prior
from mpu_cli.core.side.shortlist import Shortlist


@dataclass(frozen=True)
class Guidance:
    """Where the weights of labels are drawn to, and which instances labels are learned from.

    Attributes
    ----------
    prior : Prior or None
        None: weights are drawn to 0.
    shortlist : Shortlist or None
        None: each label is learned from all instances.
    """

    prior: Prior | None = None
    shortlist: Shortlist | None = None

    def of_next_level(self, predictions: Predictions, width: int) -> "Guidance":
        """Return the guidance of the level above.

        Parameters
        ----------
        predictions : csr_array of float32, shape (n, q), or ndarray where there is no shortlist
            Of this level, by models that have not seen the instances.
        width : int
            Number of features of the level above.
        """
        prior = self.prior and self.prior.widened(width)
        return Guidance(prior, self.shortlist and self.shortlist.widened(predictions))


NO_GUIDANCE = Guidance()
