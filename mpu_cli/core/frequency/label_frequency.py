"""The label frequency c = Pr(annotated | true) of every cell (instance, label): one object for everything that uses c.

In a cell that is not verified, c is the rate of the label. In a verified cell c is 1, and s, whether the label counts
as annotated, is its truth. In an ignored cell c is 0: it is neither positive nor negative.

    cell                   s    c       loss
    annotated              1    rate    -log sigma(z)
    not annotated          0    rate    -log(1 - c sigma(z))
    verified as true       1    1       -log sigma(z)
    verified as false      0    1       -log(1 - sigma(z))
    ignored                0    0       0

In an instance whose label set is complete, every cell is verified: the annotated ones are true, the others
false. With all cells verified this is logistic regression on complete labels.

True labels are counted by annotations, each of which stands for 1 / rate true labels; in complete instances each stands
for itself, and those of labels known to be false stand for none. A single label that was found true is not added: the
annotations stand for it already.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.data.verified_labels import VerifiedLabels
from mpu_cli.errors import DataError

# c of a cell by its verdict; NaN: the rate of its label.
_BY_VERDICT = np.array([np.nan, 1, 1, 0], np.float32)


@dataclass(frozen=True)
class LabelFrequency:
    """A rate for each label, and the verified cells.

    Attributes
    ----------
    rates : ndarray of float, shape (q,)
        Pr(annotated | true) where the label is not verified, in (0, 1].
    verified : VerifiedLabels or None
        Of n instances and q labels; None: none, of any number of instances.
    """

    rates: np.ndarray
    verified: VerifiedLabels | None = None

    @classmethod
    def of(
        cls, c: np.ndarray | float, shape: tuple[int, int], verified: VerifiedLabels | None = None
    ) -> "LabelFrequency":
        """Make one from a number for all labels, or one for each, and verified labels.

        Parameters
        ----------
        c : float or array_like, shape (q,)
        shape : (n, q)
        verified : VerifiedLabels, optional

        Raises
        ------
        DataError
            A frequency is not in (0, 1], or the shapes do not match.

        Examples
        --------
        >>> verified = VerifiedLabels.of((2, 3), true=([0], [1]), ignored=([0], [2]))
        >>> LabelFrequency.of(0.5, (2, 3), verified).of_cells(slice(None))
        array([[0.5, 1. , 0. ],
               [0.5, 0.5, 0.5]])
        """
        n, q = shape
        if np.ndim(c) and np.shape(c) != (q,):
            raise DataError(
                f"c has shape {np.shape(c)}, and there are {q} labels: give one number, or one for each label"
            )
        rates = np.full(q, c, float)
        if not ((rates > 0) & (rates <= 1)).all():
            raise DataError("c is the share of the true labels that is annotated: give numbers above 0 up to 1")
        if verified is not None and verified.cells.shape != (n, q):
            raise DataError(f"verified labels have shape {verified.cells.shape}, and the annotated labels {(n, q)}")
        return cls(rates, verified)

    def rows(self, index: np.ndarray | slice) -> "LabelFrequency":
        """Return the frequencies of these instances, in the order of the index."""
        return self if self.verified is None else LabelFrequency(self.rates, self.verified.rows(index))

    def block(self, columns: slice | np.ndarray) -> "LabelFrequency":
        """Return the frequencies of some labels."""
        return LabelFrequency(self.rates[columns], None if self.verified is None else self.verified.block(columns))

    def single_precision(self) -> "LabelFrequency":
        """Return the same in 32-bit numbers, none of which is rounded to 0."""
        return replace(self, rates=np.maximum(self.rates.astype(np.float32), np.finfo(np.float32).tiny))

    def of_cells(self, index: np.ndarray | slice) -> np.ndarray:
        """Return c of every cell of some instances, in the precision of the rates: broadcasts to (r, q)."""
        if self.verified is None:
            return self.rates
        c = _BY_VERDICT[self.verified.rows(index).verdicts()]
        return np.where(np.isnan(c), self.rates, c)

    def exceptions(self) -> tuple[np.ndarray, csr_array] | None:
        """Return where c is not the rate of its label, for compiled loops over instances; None: nowhere.

        Returns
        -------
        of_instances : ndarray of float32, shape (n,)
            c of all cells of an instance; NaN: the rates of the labels.
        of_cells : csr_array of float32, shape (n, q)
            c of single cells, which goes before that of their instance. A stored 0 is an ignored cell.
        """
        if self.verified is None:
            return None
        cells = self.verified.cells
        of_cells = csr_array((_BY_VERDICT[cells.data], cells.indices, cells.indptr), shape=cells.shape)
        return _BY_VERDICT[self.verified.instances], of_cells

    def positives(self, annotated: csr_array) -> csr_array:
        """Return s: the annotated labels, corrected by verified labels. Shape (n, q)."""
        if self.verified is None:
            return annotated
        by_chance, certain = self.verified.part(annotated)
        return by_chance + certain

    def counted(self, annotated: csr_array) -> tuple[csr_array, csr_array]:
        """Part the annotated labels by how many true labels each stands for.

        Parameters
        ----------
        annotated : csr_array, shape (n, q)
            Annotated labels.

        Returns
        -------
        by_chance : csr_array, shape (n, q)
            Those that stand for 1 / rate true labels.
        certain : csr_array, shape (n, q)
            The true labels of complete instances, which stand for themselves.
        """
        if self.verified is None:
            return annotated, csr_array(annotated.shape, dtype=annotated.dtype)
        return self.verified.as_annotated().part(annotated)

    def true_labels(self, annotated: csr_array) -> np.ndarray:
        """Estimate how many instances have each label: float64, shape (q,)."""
        return self.count(annotated).true_labels(self.rates)

    def count(self, annotated: csr_array) -> "LabelCounts":
        """Count the cells of each label, and the annotations by what each stands for."""
        n, q = annotated.shape
        cells = np.full(q, n) - (0 if self.verified is None else self.verified.count_ignored())
        return LabelCounts(cells, *map(_per_label, self.counted(annotated)))

    def ignored(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the instances and the labels of the ignored cells."""
        return (np.empty(0, np.intp),) * 2 if self.verified is None else self.verified.ignored()


@dataclass(frozen=True)
class LabelCounts:
    """What tells how frequent labels are.

    Attributes
    ----------
    cells : ndarray of int, shape (q,)
        How many cells of each label are not ignored.
    by_chance, certain : ndarray of float64, shape (q,)
        Annotations that stand for 1 / rate true labels, and true labels that stand for themselves.
    """

    cells: np.ndarray
    by_chance: np.ndarray
    certain: np.ndarray

    def __add__(self, other: "LabelCounts") -> "LabelCounts":
        """Return the counts of both."""
        return LabelCounts(self.cells + other.cells, self.by_chance + other.by_chance, self.certain + other.certain)

    def true_labels(self, rates: np.ndarray) -> np.ndarray:
        """Estimate how many instances have each label: float64, shape (q,)."""
        return self.by_chance / rates + self.certain

    def block(self, labels: slice | np.ndarray) -> "LabelCounts":
        """Return the counts of some labels."""
        return LabelCounts(self.cells[labels], self.by_chance[labels], self.certain[labels])

    def shares(self, rates: np.ndarray) -> np.ndarray:
        """Estimate the share of each label in its cells: float64, shape (q,)."""
        cells = np.maximum(self.cells, 1)
        return self.by_chance / cells / rates + self.certain / cells


def count_annotations(labels: csr_array) -> np.ndarray:
    """Return how many instances are annotated with each label: ndarray of int, shape (q,)."""
    return np.bincount(labels.indices, minlength=labels.shape[1])


def _per_label(labels: csr_array) -> np.ndarray:
    """Sum the entries of each column: float64, shape (q,)."""
    return labels.sum(axis=0, dtype=float)
