"""The label frequency of groups of instances, each of which was annotated with a chance of its own.

c of a group is estimated from its instances as c of all is from all of them (`estimators`). Groups with too few
annotations for that are taken together.
"""

from dataclasses import dataclass, replace
from typing import TypedDict

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.data.problem import InstanceGroups
from mpu_cli.core.data.verified_labels import VerifiedLabels
from mpu_cli.core.frequency.estimators import FrequencyEstimate, estimate
from mpu_cli.runtime.report import Count, Frequency, Interval

# A group with fewer annotations, in the sample by which c is estimated, is too small for an estimate of its own.
FEWEST_ANNOTATIONS = 300


class GroupRow(TypedDict):
    """The label frequency of a group of instances, in reports.

    Attributes
    ----------
    missing : float
        How many labels are missing, by c.
    pooled : bool
        Whether c is drawn to that of all, since annotations are few.
    """

    group: str
    instances: Count
    annotations: Count
    c: Frequency
    interval: Interval
    missing: float
    pooled: bool


@dataclass(frozen=True)
class GroupFrequencies:
    """The label frequency of each group of instances.

    Attributes
    ----------
    c : ndarray of float64, shape (groups,)
    intervals : ndarray of float64, shape (groups, 2)
        90 %, as of `FrequencyEstimate`.
    pooled : ndarray of bool, shape (groups,)
        Whether c is that of all small groups, or of all instances.
    """

    c: np.ndarray
    intervals: np.ndarray
    pooled: np.ndarray

    def combined(self, estimate: FrequencyEstimate, annotations: np.ndarray) -> FrequencyEstimate:
        """Return an estimate of all instances with c by the annotations of each group.

        Its interval has the ends of those of all groups at once, so that it covers more than 90 %.
        """
        c, low, high = (float(annotations.sum() / (annotations / c).sum()) for c in (self.c, *self.intervals.T))
        return replace(estimate, c=c, interval=(low, high))

    def rows(self, groups: InstanceGroups, labels: csr_array) -> list[GroupRow]:
        """Return a report of each group.

        Parameters
        ----------
        groups : InstanceGroups
        labels : csr_array of bool, shape (n, q)
            Annotated labels of these instances.
        """
        instances, annotations = groups.sums(np.ones(len(groups.of_instances))), groups.sums(np.diff(labels.indptr))
        return [
            {
                "group": name,
                "instances": int(instances[g]),
                "annotations": int(annotations[g]),
                "c": float(self.c[g]),
                "interval": self.intervals[g].tolist(),
                "missing": float(annotations[g] * (1 / self.c[g] - 1)),
                "pooled": bool(self.pooled[g]),
            }
            for g, name in enumerate(groups.names)
        ]


def estimate_groups(
    probabilities: np.ndarray,
    labels: csr_array,
    groups: InstanceGroups,
    of_all: FrequencyEstimate,
    replicates: int,
    seed: int,
    verified: VerifiedLabels | None = None,
) -> GroupFrequencies:
    """Estimate a label frequency for each group.

    Parameters
    ----------
    probabilities, labels, replicates, seed, verified
        As for `estimators.estimate`.
    groups : InstanceGroups
        Of these instances.
    of_all : FrequencyEstimate
        Of all instances.
    """
    by_chance = labels if verified is None else verified.left_to_chance().part(labels)[0]
    annotations = groups.sums(np.diff(by_chance.indptr))
    large = annotations >= FEWEST_ANNOTATIONS

    def of_some(which: np.ndarray) -> FrequencyEstimate:
        rows = np.flatnonzero(np.isin(groups.of_instances, which))
        verified_of_them = verified and verified.rows(rows)
        return estimate(probabilities[rows], labels[rows], "bbe", replicates, seed, verified_of_them)

    small = np.flatnonzero(~large)
    rest = of_some(small) if annotations[small].sum() >= FEWEST_ANNOTATIONS else of_all
    estimates = [of_some(np.array([group])) if enough else rest for group, enough in enumerate(large.tolist())]
    return GroupFrequencies(
        np.array([one.c for one in estimates]), np.array([one.interval or (one.c, one.c) for one in estimates]), ~large
    )
