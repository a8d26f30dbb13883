"""The prior and the negative sample of the labels of a level."""

from dataclasses import dataclass

from mpu_cli.core.data.predictions import Predictions
from mpu_cli.core.side.negative_sampling import NegativeSample
from mpu_cli.core.side.prior import Prior


@dataclass(frozen=True)
class SideInformation:
    """Where the weights of labels are drawn to, and which instances labels are learned from.

    Attributes
    ----------
    prior : Prior or None
        None: weights are drawn to 0.
    negatives : NegativeSample or None
        None: each label is learned from all instances.
    """

    prior: Prior | None = None
    negatives: NegativeSample | None = None

    def of_next_level(self, predictions: Predictions, width: int) -> "SideInformation":
        """Return that of the level above.

        Parameters
        ----------
        predictions : csr_array of float32, shape (n, q), or ndarray where there are no negatives
            Of this level, by models that have not seen the instances.
        width : int
            Number of features of the level above.
        """
        prior = self.prior and self.prior.widened(width)
        return SideInformation(prior, self.negatives and self.negatives.widened(predictions))


NO_SIDE_INFORMATION = SideInformation()
