"""Side information of the labels of a level: a prior of their weights, and their negative sample.

Names teach: a Gaussian prior of the weights has the label's own features as its mean. A label called "Digital
television" is likely where these words stand. So label k gets a vector v_k in the space of the features, of unit
length, such as that of its name; zero where it has none. Its weights are regularised towards a v_k in place
of 0, and start there: w_k = a v_k + u_k, with lambda / 2 ||u_k||^2 in the objective. So u_k is learned as w_k is
without a prior, from scores to which a v_k . x is added.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csc_array, csr_array

from mpu_cli.core.data.features import Features, unit_rows
from mpu_cli.core.data.predictions import Block, Predictions
from mpu_cli.core.side.negative_sampling import NegativeSample


@dataclass(frozen=True)
class Prior:
    """The vectors of q labels, and the n instances whose products with them are wanted.

    Attributes
    ----------
    vectors : csc_array of float32, shape (D, q)
        The columns v_k, each of unit length or zero.
    instances : csc_array of float32, shape (n, D)
        By column, so that a product takes no longer than there are instances with the features of the label.
    """

    vectors: csc_array
    instances: csc_array

    @classmethod
    def of(cls, features: Features, label_features: csr_array) -> "Prior":
        """Make one for some instances.

        Parameters
        ----------
        features : Features, n instances
        label_features : csr_array of float32, shape (q, D)
            A row for each label, of any length.
        """
        return cls(csc_array(unit_rows(label_features).T), features.as_sparse().tocsc())

    def block(self, labels: Block) -> "Prior":
        """Return the same for some of the labels."""
        return replace(self, vectors=self.vectors[:, labels])

    def widened(self, width: int) -> "Prior":
        """Return the same for instances with more features, as those of a higher level, of which the mean is 0."""
        v = self.vectors
        return replace(self, vectors=csc_array((v.data, v.indices, v.indptr), shape=(width, v.shape[1])))

    def mean(self, block: Block, weight: float) -> np.ndarray:
        """Return a v_k of a block of labels: float32, shape (D, k)."""
        return self.vectors[:, block].toarray() * np.float32(weight)

    def offsets(self, block: Block, weight: float) -> csr_array:
        """Return a v_k . x_i of a block of labels: float32, shape (n, k)."""
        v = self.vectors[:, block]
        shape = self.instances.shape[1], v.shape[1]
        weighted = csc_array((v.data * np.float32(weight), v.indices, v.indptr), shape=shape)
        return (self.instances @ weighted).tocsr()


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
