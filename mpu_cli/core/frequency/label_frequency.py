"""The label frequency c = Pr(annotated | true) of every cell (instance, label).

In an unverified cell, c is the rate of the label or, if instances are in groups, of the instance. docs/method.md,
"Verified labels", has c and the losses of the other cells, and how true labels are counted by annotations.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import betaincinv

from mpu_cli.core.features import with_values
from mpu_cli.core.predictions import count_positives
from mpu_cli.core.problem import Verdict, VerifiedLabels, counts_by_chance
from mpu_cli.errors import DataError

# c of a cell by its verdict; NaN: the rate of its label.
_BY_VERDICT = np.array([np.nan, 1, 1, 0, 1], np.float32)


@dataclass(frozen=True)
class LabelFrequency:
    """A rate for each label, and the verified cells."""

    rates: np.ndarray  # float, shape (q,): Pr(annotated | true) of unverified cells, in (0, 1]
    verified: VerifiedLabels | None = None  # of n instances and q labels; None: no verdicts, any n
    # float, shape (n,): Pr(annotated | true) of all labels of an instance, instead of the rates
    of_instances: np.ndarray | None = None
    # float64, shape (n,): factors of c in unverified cells: 0 where nobody looked at an instance; None: all are 1
    share_read: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        c: np.ndarray | float,
        shape: tuple[int, int],
        verified: VerifiedLabels | None = None,
        of_instances: np.ndarray | None = None,
    ) -> "LabelFrequency":
        """Make label frequencies from c, a number or one per label, and verified labels; shape: (n, q).

        `of_instances`: float, shape (n,): replaces c.
        Raises DataError (a frequency is not in (0, 1]).

        >>> verified = VerifiedLabels.of((2, 3), true=([0], [1]), ignored=([0], [2]))
        >>> LabelFrequency.of(0.5, (2, 3), verified).of_cells(slice(None))
        array([[0.5, 1. , 0. ],
               [0.5, 0.5, 0.5]])
        """
        rates = np.full(shape[1], c, float)
        if not ((rates > 0) & (rates <= 1)).all():
            raise DataError("c, the share of the true labels that is annotated, must be above 0 and at most 1")
        return cls(rates, verified, of_instances)

    @classmethod
    def naive(cls, shape: tuple[int, int], verified: VerifiedLabels | None) -> "LabelFrequency":
        """Make the label frequencies for learning Pr(s=1 | x): c is 1, and cells not left to chance are ignored."""
        return cls.of(1.0, shape, verified and verified.left_to_chance())

    def rows(self, index: np.ndarray | slice) -> "LabelFrequency":
        """Return the frequencies of these instances, in the order of the index."""
        verified = self.verified and self.verified.rows(index)
        of_instances, read = (part if part is None else part[index] for part in (self.of_instances, self.share_read))
        return LabelFrequency(self.rates, verified, of_instances, read)

    def block(self, columns: slice | np.ndarray) -> "LabelFrequency":
        """Return the frequencies of a subset of the labels."""
        verified = self.verified and self.verified.block(columns)
        return replace(self, rates=self.rates[columns], verified=verified)

    def single_precision(self) -> "LabelFrequency":
        """Return the same frequencies in 32 bits; none is rounded to 0."""
        of_instances = None if self.of_instances is None else _single(self.of_instances)
        return replace(self, rates=_single(self.rates), of_instances=of_instances)

    def of_cells(self, index: np.ndarray | slice) -> np.ndarray:
        """Return c of every cell in the given instances, in the precision of the rates: broadcasts to (r, q)."""
        unverified = self.rates if self.of_instances is None else self.of_instances[index][:, None]
        if self.verified is None:
            return unverified
        c = _BY_VERDICT[self.verified.rows(index).verdicts()]
        return np.where(np.isnan(c), unverified, c)

    def of_unverified(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return c of the given cells as if they were unverified: float, shape of `rows`."""
        c = self.rates[columns] if self.of_instances is None else self.of_instances[rows]
        return c if self.share_read is None else np.minimum(c * self.share_read[rows], 1)

    def true_of(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Estimate how many true labels the given annotated cells represent: float64, shape (q,)."""
        q = len(self.rates)
        if self.of_instances is None:
            return np.bincount(columns, minlength=q) / self.rates
        return np.bincount(columns, 1 / self.of_instances[rows], q)

    def exceptions(self) -> tuple[np.ndarray, csr_array]:
        """Return the c that are not the rate of their label, for compiled loops; for zero instances if there are none.

        Returns: `of_instances`: float32, shape (n,): c of all cells of an instance; NaN: the rates of the labels.
        `of_cells`: csr_array of float32, shape (n, q): c of single cells, which overrides `of_instances`. A stored 0
        marks an ignored cell.
        """
        of_instances = _single(np.empty(0) if self.of_instances is None else self.of_instances)
        if self.verified is None:
            return of_instances, csr_array((len(of_instances), len(self.rates)), dtype=np.float32)
        cells, by_verdict = self.verified.cells, _BY_VERDICT[self.verified.instances]
        of_cells = with_values(cells, _BY_VERDICT[cells.data])
        if self.of_instances is None:
            return by_verdict, of_cells
        return np.where(np.isnan(by_verdict), of_instances, by_verdict), of_cells

    def positives(self, annotated: csr_array) -> csr_array:
        """Return s: the annotated labels, corrected by verified labels: shape (n, q)."""
        return annotated if self.verified is None else self.verified.positives(annotated)

    def by_chance_and_certain(self, annotated: csr_array) -> tuple[csr_array, csr_array]:
        """Split annotated labels into those that represent 1 / c true ones each, and those in complete instances."""
        if self.verified is None:
            return annotated, csr_array(annotated.shape, dtype=annotated.dtype)
        verified = self.verified.as_annotated()
        return verified.by_chance(annotated), verified.certain(annotated)

    def labelled(self, annotated: csr_array) -> np.ndarray:
        """Return whether each instance has a label, or is known to have none: bool, shape (n,)."""
        has_label = np.diff(self.positives(annotated).indptr) > 0
        return has_label if self.verified is None else has_label | (self.verified.instances == Verdict.FALSE)

    def true_labels(self, annotated: csr_array) -> np.ndarray:
        """Estimate how many instances have each label: float64, shape (q,)."""
        by_chance, certain = self.by_chance_and_certain(annotated)
        return self.true_of(*by_chance.nonzero()) + certain.sum(axis=0, dtype=float)

    def cells(self, n: int) -> np.ndarray:
        """Count the cells of each label that are not ignored, of n instances: int, shape (q,)."""
        return np.full(len(self.rates), n) - (0 if self.verified is None else self.verified.count_ignored())

    def of_annotations(self, annotated: csr_array) -> np.ndarray:
        """Return the label frequency of each label's annotations left to chance: float64, shape (q,)."""
        if self.of_instances is None:
            return self.rates
        by_chance = self.by_chance_and_certain(annotated)[0]
        true = self.true_of(*by_chance.nonzero())
        return np.divide(count_positives(by_chance), true, out=self.rates.astype(float), where=true > 0)

    def ignored(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the instances and the labels of the ignored cells."""
        return (np.empty(0, np.intp),) * 2 if self.verified is None else self.verified.ignored()


def _single(c: np.ndarray) -> np.ndarray:
    """Return frequencies in 32 bits; none is rounded to 0."""
    return np.maximum(c.astype(np.float32), np.finfo(np.float32).tiny)


# A label frequency is refuted if it makes the annotations less probable than this, divided by the number of labels.
_REFUTED = 1e-3
# What a frequency file keeps of a number, at least.
_ROUNDED = 1 - 1e-5


@dataclass(frozen=True)
class EarlierEstimate:
    """The label frequency of each label, read from a file written by `mpu estimate-c -o`; behaves like an array."""

    rates: np.ndarray  # float64, shape (q,)
    c: float  # of all labels
    interval: tuple[float, float] | None  # of c, 90 %; None: c was unknown
    warnings: tuple[str, ...] = ()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.rates, dtype=dtype)


def is_estimated(c: Any) -> bool:
    """Return whether any label frequency is to be estimated: for all labels (None), or for those with NaN."""
    return c is None or bool(np.isnan(c).any())


def _counts_not_ignored(labels: csr_array, verified: VerifiedLabels | None) -> tuple[np.ndarray, np.ndarray]:
    """Count as `counts_by_chance` does, but include the cells of refuted labels, so that c is refused less often."""
    cells = LabelFrequency.naive(labels.shape, verified).cells(labels.shape[0])
    return counts_by_chance(labels, verified)[0], cells


def least_not_refuted(labels: csr_array, verified: VerifiedLabels | None) -> np.ndarray:
    """Return the least frequency of each label that its annotations do not refute: float64, shape (q,)."""
    annotated, cells = _counts_not_ignored(labels, verified)
    least, there = np.zeros(len(cells)), annotated > 0
    least[there] = betaincinv(annotated[there], (cells - annotated)[there] + 1, _REFUTED / len(least))
    return least


def refuse_refuted(
    c: Any, labels: csr_array, verified: VerifiedLabels | None = None, shown: Callable[[int], str] = str
) -> None:
    """Raise DataError if a label frequency is too small for the annotations of a label.

    `c`: a number, or one for each label.
    `shown`: maps a label's column to its name.
    """
    least = least_not_refuted(labels, verified)
    rates = np.broadcast_to(np.asarray(c, float), least.shape)
    if not (rates < least * _ROUNDED).any():
        return
    k = int(np.argmax(least - rates))
    annotated, cells = (int(counts[k]) for counts in _counts_not_ignored(labels, verified))
    raise DataError(
        f"c = {rates[k]:.3g} contradicts the annotations: label {shown(k)} is annotated in {annotated:,} of "
        f"{cells:,} instances ({annotated / cells:.0%}), so its c is at least "
        f"{min(np.ceil(least[k] * 1000) / 1000, 1):.3f}; "
        "give a larger c, or leave it out to have it estimated"
    )
