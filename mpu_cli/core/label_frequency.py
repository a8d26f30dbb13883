"""The label frequency c = Pr(annotated | true) of every cell (instance, label): one object for all that needs it.

c is a rate a label where labels were annotated by chance. Where the truth is known (`mpu_cli.core.known_labels`) it is
1: what is annotated there is true, and what is not is false. In an ignored cell it is 0: nothing follows from it.

    cell                                         annotation s    c       loss               stands for
    annotated by chance                          1               rate    -log sigma(z)      1 / rate true labels
    not annotated                                0               rate    -log(1 - c sigma)  -
    checked and true, or annotated in a          1               1       -log sigma(z)      1 true label
      complete instance
    checked and false, or not annotated in a     0               1       -log sigma(-z)     -
      complete instance
    ignored                                      0               0       0                  not counted at all

So with every cell known this is logistic regression on complete labels. The annotation of a cell whose truth is known
plays no part: s is what is known.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.known_labels import KnownLabels
from mpu_cli.errors import MpuError

# c of a cell by its verdict; NaN: the rate of its label.
_BY_VERDICT = np.array([np.nan, 1, 1, 0], np.float32)


@dataclass(frozen=True)
class LabelFrequency:
    """A rate for each label, and the cells in which more is known.

    Attributes
    ----------
    rates : ndarray of float, shape (q,)
        Pr(annotated | true) in the cells that nothing is known of, in (0, 1].
    known : KnownLabels or None
        Of n instances and q labels; None: nothing is known, of any number of instances.
    """

    rates: np.ndarray
    known: KnownLabels | None = None

    @classmethod
    def of(cls, c: np.ndarray | float, shape: tuple[int, int], known: KnownLabels | None = None) -> "LabelFrequency":
        """Take a number for all labels, or one for each, and lay what is known over it.

        Parameters
        ----------
        c : float or array_like, shape (q,)
        shape : (n, q)
        known : KnownLabels, optional

        Raises
        ------
        MpuError
            A frequency is not in (0, 1], or the shapes do not match.
        """
        n, q = shape
        if np.ndim(c) and np.shape(c) != (q,):
            raise MpuError(
                f"c has shape {np.shape(c)}, and there are {q} labels: give one number, or one for each label"
            )
        rates = np.full(q, c, float)
        if not ((rates > 0) & (rates <= 1)).all():
            raise MpuError("c is the share of the true labels that is annotated: give numbers above 0 up to 1")
        if known is not None and known.cells.shape != (n, q):
            raise MpuError(f"known labels have shape {known.cells.shape}, and the annotated labels {(n, q)}")
        return cls(rates, known)

    def rows(self, index: np.ndarray | slice) -> "LabelFrequency":
        """Return the frequencies of some instances, in the order given."""
        return self if self.known is None else LabelFrequency(self.rates, self.known.rows(index))

    def block(self, columns: slice) -> "LabelFrequency":
        """Return the frequencies of some labels."""
        return LabelFrequency(self.rates[columns], None if self.known is None else self.known.block(columns))

    def single_precision(self) -> "LabelFrequency":
        """Return the same in 32-bit numbers; float64 has numbers above 0 that would be 0 there."""
        return replace(self, rates=np.maximum(self.rates.astype(np.float32), np.finfo(np.float32).tiny))

    def of_cells(self, index: np.ndarray | slice) -> np.ndarray:
        """Return c of every cell of some instances, in the precision of the rates: broadcasts to (r, q)."""
        if self.known is None:
            return self.rates
        c = _BY_VERDICT[self.known.rows(index).verdicts()]
        return np.where(np.isnan(c), self.rates, c)

    def exceptions(self) -> tuple[np.ndarray, csr_array] | None:
        """Where c is not the rate of its label, for compiled loops over instances; None: nowhere.

        Returns
        -------
        of_instances : ndarray of float32, shape (n,)
            c of all cells of an instance; NaN: the rates of the labels.
        of_cells : csr_array of float32, shape (n, q)
            c of single cells, before which that of their instance yields. A stored 0 is an ignored cell.
        """
        if self.known is None:
            return None
        cells = self.known.cells
        of_cells = csr_array((_BY_VERDICT[cells.data], cells.indices, cells.indptr), shape=cells.shape)
        return _BY_VERDICT[self.known.instances], of_cells

    def part(self, annotated: csr_array) -> tuple[csr_array, csr_array]:
        """Tell the labels that stand for 1 / rate true ones from those that stand for themselves.

        Parameters
        ----------
        annotated : csr_array, shape (n, q)
            Annotated labels; those of ignored cells, and those that were found false, are in neither part.

        Returns
        -------
        by_chance, certain : csr_array, shape (n, q)
        """
        if self.known is None:
            return annotated, csr_array(annotated.shape, dtype=annotated.dtype)
        return self.known.part(annotated)

    def positives(self, annotated: csr_array) -> csr_array:
        """Return s: the annotated labels, corrected by what is known."""
        if self.known is None:
            return annotated
        by_chance, certain = self.known.part(annotated)
        return by_chance + certain

    def true_labels(self, annotated: csr_array) -> np.ndarray:
        """Estimate how many instances have each label: the sum of s / c over its cells. float64, shape (q,)."""
        by_chance, certain = self.part(annotated)
        return _per_label(by_chance) / self.rates + _per_label(certain)

    def shares(self, annotated: csr_array) -> tuple[np.ndarray, np.ndarray]:
        """Estimate the share of each label in its cells that are not ignored.

        Returns
        -------
        share : ndarray of float64, shape (q,)
        cells : ndarray of int, shape (q,)
            How many cells that rests on.
        """
        cells = annotated.shape[0] - np.bincount(self.ignored()[1], minlength=annotated.shape[1])
        some = np.maximum(cells, 1)
        by_chance, certain = self.part(annotated)
        return _per_label(by_chance) / some / self.rates + _per_label(certain) / some, cells

    def ignored(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the instances and the labels of the ignored cells."""
        return (np.empty(0, np.intp),) * 2 if self.known is None else self.known.ignored()


def _per_label(labels: csr_array) -> np.ndarray:
    return labels.sum(axis=0, dtype=float)
