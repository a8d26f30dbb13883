"""Propensity-scored precision and nDCG, summed chunk by chunk.

A true label that is retrieved gains 1 / propensity in place of 1, so rare labels count more. The sum over all instances
is divided by the largest that any ranking can reach, which is that of the true labels in descending order of their
gain. Both are those of the Extreme Classification Repository, where PSnDCG@k divides the gain of each instance by the
sum of the discounts of the first min(k, true labels) ranks before that.

Ties and unlisted labels are treated as in `mpu_cli.evaluation.ranking`. Instances without true labels can gain
nothing, so they do not count.

References
----------
Jain, Prabhu, Varma, "Extreme Multi-label Loss Functions for Recommendation, Tagging, Ranking and Other Missing Label
Applications", KDD 2016, Sections 4 and 6.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.evaluation.metrics import divide
from mpu_cli.evaluation.propensities import Propensities
from mpu_cli.evaluation.ranking import gains_up_to, ranked_hits, tied_gain
from mpu_cli.evaluation.sums import Sums


@dataclass
class PropensityScoredMetrics:
    """Sums over instances, for PSP@k and PSnDCG@k.

    Attributes
    ----------
    propensities : Propensities
        Propensities of all labels that are ever true.
    ks : tuple of int
        Cut-offs.
    """

    propensities: Propensities
    ks: tuple[int, ...] = (1, 3, 5)

    def __post_init__(self) -> None:
        self._gains = Sums(2, 2, len(self.ks))  # gained and attainable; of precision and of nDCG

    def add(self, truth: csr_array, scores: csr_array) -> None:
        """Add a chunk.

        Parameters
        ----------
        truth : csr_array, shape (n, Q), bool
            Label sets: row i has an entry in column k if label k is in the set of instance i.
        scores : csr_array, shape (n, R)
            Scores of the listed labels; larger means more probable. A stored zero counts as listed.

        Raises
        ------
        MpuError
            The propensity of a true label is unknown.
        """
        hits = ranked_hits(truth, scores)
        best = csr_array((self.propensities.inverse(truth.indices), truth.indices, truth.indptr), truth.shape)
        ideal = ranked_hits(truth, best)
        rankings = (
            (hits, self.propensities.inverse(hits.labels)),
            (ideal, self.propensities.inverse(ideal.labels)),
        )
        true_sizes = np.diff(truth.indptr)
        longest = int(max(np.diff(scores.indptr).max(initial=0), true_sizes.max(initial=0)))
        retrieved, discounts = gains_up_to(longest)
        gains = np.empty((2, 2, len(self.ks)))
        for i, k in enumerate(self.ks):
            reach = min(k, longest)
            most = discounts[np.minimum(true_sizes, reach)]
            for which, (ranked, weight) in enumerate(rankings):
                gains[which, 0, i] = (weight * tied_gain(ranked, retrieved, reach)).sum()
                gains[which, 1, i] = divide(weight * tied_gain(ranked, discounts, reach), most[ranked.rows]).sum()
        self._gains.add(gains)

    def __add__(self, other: "PropensityScoredMetrics") -> "PropensityScoredMetrics":
        """Return the sums over the instances of both."""
        both = PropensityScoredMetrics(self.propensities, self.ks)
        both._gains = self._gains + other._gains
        return both

    def results(self) -> dict[str, float]:
        """Return the metrics of all instances so far.

        Returns
        -------
        dict
            ``psp_at_K`` and ``psndcg_at_K`` for each cut-off; 0 if there is no true label.
        """
        values = divide(*self._gains.total)
        return {
            f"{name}_at_{k}": float(value)
            for name, row in zip(("psp", "psndcg"), values, strict=True)
            for k, value in zip(self.ks, row, strict=True)
        }
