"""Check array arguments, and convert them to CSR arrays."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from mpu_cli.core.features import entry_rows, only_entries
from mpu_cli.core.predictions import refuse_large_predictions, values_at
from mpu_cli.core.problem import Answers, InstanceGroups, Problem, VerifiedLabels
from mpu_cli.errors import DataError
from mpu_cli.evaluation.metrics import entries_in
from mpu_cli.names.label_names import LabelNames
from mpu_cli.runtime.options import columns_of, in_order_of
from mpu_cli.svmlight.grammar import MAX_ID


@dataclass(frozen=True, kw_only=True)
class Annotations(Problem):
    """The annotations of the learnable labels, with one empty feature until `replace` sets the features."""

    columns: np.ndarray  # int, shape (q,): the columns of these labels in the caller's matrix
    named: "Named"  # that matrix

    @classmethod
    def of_matrix(cls, y: Any, **checked: Any) -> "Annotations":
        """Check an indicator matrix with NaN, pd.NA or masked for unknown cells; other arguments as for `of`."""
        known, unknown = _without_unknown(y)
        matrix, names = indicator(known), columns_of(y)
        classes = np.arange(matrix.shape[1]) if names is None else np.fromiter(names, object, len(names))
        return cls.of(Named(matrix, classes, unknown, names), **checked)

    def shown(self, k: int) -> str:
        """Return the name of a label for messages."""
        return str(self.named.of_columns[self.columns[k]])

    def of_labels(self, values: np.ndarray) -> np.ndarray:
        """Select the columns of these labels from all of the caller's columns."""
        return np.ascontiguousarray(values[..., self.columns])

    def of_scores(self, values: Any, name: str = "scores") -> np.ndarray:
        """Check that all cells of y have scores from 0 to 1, and return these labels' columns: float32, n x q."""
        given = from_0_to_1(in_order_of(self.named.names, values, name), name)
        if given.shape != (shape := self.named.matrix.shape):
            raise DataError(f"{name} have shape {given.shape}, and y has {shape}")
        return self.of_labels(given)

    def widened(self, values: np.ndarray, absent: float = 0.0) -> np.ndarray:
        """Spread columns of the learnable labels over all of the caller's columns; fill the others with a number."""
        return widened(values, self.columns, self.named.matrix.shape[1], absent)

    @classmethod
    def of(  # noqa: PLR0913 - the arguments of `fit`
        cls,
        named: "Named",
        numbers: np.ndarray | None = None,
        *,
        reviewed: Any = None,
        fully_labelled: Any = None,
        ignored: Any = None,
        sampled: Any = None,
        label_features: csr_array | None = None,
        groups: Any = None,
        same_fold: Any = None,
    ) -> "Annotations":
        """Check arguments of `fit`, and select the labels that are annotated, verified as true, or have features.

        `numbers`: sort keys for the labels; None: keep their order.
        Raises DataError (an argument has a wrong shape or wrong values, or no label is annotated).
        """
        shape = n, width = named.matrix.shape
        verdicts = _cells(reviewed, shape, named.names, "reviewed", (-1, 0, 1))
        unknown = csr_array(shape, dtype=np.int8) if named.unknown is None else named.unknown
        left_out = csr_array(unknown + _cells(ignored, shape, named.names, "ignored", (0, 1)))
        drawn, chances = _sampled(sampled, named)
        complete = drawn if fully_labelled is None else drawn | _mask(fully_labelled, "fully_labelled", n)
        occurs = np.zeros(width, bool)
        occurs[named.matrix.indices] = True
        if not occurs.any():
            held = "y holds zeros only" if width else "y has no columns"
            if unknown.nnz:
                held = "y is unknown everywhere" if unknown.nnz == n * width else "y holds zeros and unknown cells only"
            raise DataError(f"no instance has a label, so there is nothing to learn: {held}")
        occurs[verdicts.indices[verdicts.data > 0]] = True
        if label_features is not None:
            occurs |= np.diff(label_features.indptr) > 0
        columns = np.flatnonzero(occurs)
        if numbers is not None:
            columns = columns[np.argsort(numbers[columns], kind="stable")]
        labels, verdicts, left_out = (_columns(matrix, columns) for matrix in (named.matrix, verdicts, left_out))
        verified, answers = None, None
        if reviewed is not None or left_out.nnz or complete.any():
            verified = VerifiedLabels.of(
                (n, len(columns)),
                true=(verdicts > 0).nonzero(),
                false=(verdicts < 0).nonzero(),
                ignored=left_out.nonzero(),
                complete=complete,
                shown=lambda k: str(named.of_columns[columns[k]]),
            )
        if chances is not None:
            rows, of_label = (index.astype(np.int64) for index in _columns(chances, columns).nonzero())
            verdict = values_at(verdicts, rows, of_label)
            answers = Answers(rows, of_label, verdict > 0)[verdict != 0] if verdict.any() else None
            yes = verdict > 0  # y may have them since
            labels = csr_array(labels > csr_array((yes[yes], (rows[yes], of_label[yes])), labels.shape))
        return cls(
            csr_array((n, 1), dtype=np.float32),
            labels,
            columns=columns,
            named=named,
            verified=verified,
            sampled=np.flatnonzero(drawn) if drawn.any() else None,
            answers=answers,
            label_features=None if label_features is None else label_features[columns],
            groups=None if groups is None else _groups(groups, n, "groups"),
            same_fold=None if same_fold is None else _groups(same_fold, n, "same_fold").of_instances,
        )


@dataclass(frozen=True)
class Named:
    """Annotations as an indicator matrix, and the names of its columns. Created by `of`."""

    matrix: csr_array  # bool, shape (n, q)
    # ndarray, shape (q,): names of the columns; for two classes in one dimension, both: the second is the column
    classes: np.ndarray
    unknown: csr_array | None = None  # int8, shape (n, q): 1 if y is unknown; such cells are 0 in `matrix`
    names: Any = None  # names of the columns in other data frames: those of y, or else the classes; None if absent
    has_one_dimension: bool = False  # whether y contains one class for each instance

    @property
    def of_columns(self) -> np.ndarray:
        """Names of only the columns: shape (q,)."""
        return self.classes[-self.matrix.shape[1] :]

    @classmethod
    def of(cls, y: Any, classes: Any = None, pos_label: Any = None) -> "Named":
        """Read an indicator matrix, label sets, or one class for each instance.

        `y`: array_like, sparse matrix or data frame, shape (n, q); n collections of str; or array_like, shape (n,).
        `classes`: array_like of shape (q,): names of the columns, or of the labels in the sets.
        `pos_label`: the value, or one of two classes, that represents an annotated label. None: 1, or the larger class.
        Raises DataError (y has another form, other values, or only one class, or the names do not match its columns).
        """
        if are_label_sets(y):
            matrix, labels = from_label_sets(y, classes)
            return cls(matrix, labels, names=labels)
        own = getattr(y, "columns", None)
        y, unknown = _without_unknown(y, pos_label)
        values = checked(y, "y", accept_sparse=True, ensure_2d=False, dtype=None)
        if values.ndim != 1 and (issparse(values) or values.shape[1] != 1 or np.isin(values, (0, 1)).all()):
            matrix = indicator(y)
            if pos_label is not None and not matrix.nnz:
                raise DataError(f"pos_label is {pos_label!r}, which y does not contain, so there is nothing to learn")
            names = class_names(own if classes is None else classes, matrix.shape[1])
            return cls(matrix, names, unknown, names if own is None or list(own) == list(range(len(own))) else own)
        if classes is not None:
            raise DataError(
                "Unknown label type: y has one dimension, and classes are names of columns: give an indicator matrix, "
                "or a list of names for each instance"
            )
        values = column_or_1d(values, warn=True)
        check_classification_targets(values)
        classes, numbers = np.unique(values, return_inverse=True)
        if len(classes) < 2:
            raise DataError("y has one class only, so there is nothing to learn")
        if len(classes) > 2 and pos_label is not None:
            raise DataError(f"pos_label is {pos_label!r}, and y has {len(classes)} classes: leave it out")
        if pos_label is not None and pos_label not in classes.tolist():
            raise DataError(
                f"pos_label is {pos_label!r}, and the classes of y are {', '.join(map(repr, classes.tolist()))}"
            )
        if pos_label is None and len(classes) == 2 and _NOT_ANNOTATED.fullmatch(str(classes[1]).lower()):
            first, second = classes.tolist()
            raise DataError(f"y has the classes {first!r} and {second!r}: set pos_label to the annotated one")
        if len(classes) == 2 and classes[0] == pos_label:
            classes, numbers = classes[::-1], 1 - numbers
        columns = [1] if len(classes) == 2 else range(len(classes))
        matrix = csr_array(numbers[:, None] == np.array(columns))
        return cls(matrix, classes, names=classes if len(classes) > 2 else None, has_one_dimension=True)


def widened(values: np.ndarray, columns: np.ndarray, width: int, absent: float = 0.0) -> np.ndarray:
    """Put the entries of the last axis into the given ones of `width` columns, and fill the others with `absent`."""
    wide = np.full((*values.shape[:-1], width), absent, values.dtype)
    wide[..., columns] = values
    return wide


def checked(values: Any, name: str, **how: Any) -> Any:
    """Check an array or a sparse matrix with `check_array` and its options, and that sparse indices are valid."""
    refuse_broken(values, name)
    return check_array(values, input_name=name, **{"accept_sparse": "csr", "ensure_min_features": 0, **how})


def from_0_to_1(values: Any, name: str, **how: Any) -> np.ndarray:
    """Check scores from 0 to 1, dense or sparse, with options of `check_array`: float32, same shape."""
    given = checked(values, name, dtype=np.float32, **how)
    if issparse(given):
        refuse_large_predictions(*given.shape)
        given = given.toarray()
    if not ((given >= 0) & (given <= 1)).all():
        raise DataError(f"{name}: give numbers from 0 to 1; scipy.special.expit makes them of decision functions")
    return np.asarray(given)


def refuse_broken(matrix: Any, name: str) -> None:
    """Raise DataError if there is no matrix, a cell is masked, or a sparse index is outside the shape."""
    if matrix is None:
        raise DataError(f"{name} is missing: give an array, a sparse matrix or a data frame")
    if isinstance(matrix, np.ma.MaskedArray) and matrix.mask.any():
        raise DataError(f"{name} has masked cells, which only y may have, as a matrix: fill them, as filled(0) does")
    if not issparse(matrix):
        return
    try:
        if matrix.format == "coo":
            type(matrix)((matrix.data, matrix.coords), shape=matrix.shape)
        elif hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)
    except (ValueError, IndexError) as error:
        raise DataError(f"{name} is not a sound sparse matrix: {error}") from error


# Class names that mean "not annotated", although they come last in order.
_NOT_ANNOTATED = re.compile(
    r"u|unl|un(known|labell?ed|annotated|assigned|tagged)|no|none|(no|not|non)\W.*|neg|negative|missing|absent"
)


def _without_unknown(y: Any, pos_label: Any = None) -> tuple[Any, csr_array | None]:
    """Set unknown cells in annotations (NaN, None, pd.NA or masked) to 0.

    Return the annotations, unchanged if no cell is unknown and `pos_label` is None, or compared with `pos_label`; and
    the positions of the unknown cells: int8, shape (n, q), or None.
    """
    if issparse(y):
        refuse_broken(y, "y")
        matrix = csr_array(y, copy=True)
        unknown = csr_array(matrix != matrix)
    elif are_label_sets(y):
        return y, None  # which `indicator` refuses
    else:
        matrix = np.ma.getdata(y) if isinstance(y, np.ma.MaskedArray) else np.asarray(y)
        if matrix.ndim != 2 or (matrix.dtype.kind not in "fO" and matrix is y and pos_label is None):
            return y, None
        with np.errstate(invalid="ignore"):  # Python 3.13 sets the flag when NaN is compared
            holes = _ARE_UNKNOWN(matrix).astype(bool) if matrix.dtype == object else matrix != matrix
        unknown = csr_array(holes | np.ma.getmaskarray(y))
    if pos_label is not None:
        return matrix == pos_label, unknown.astype(np.int8) if unknown.nnz else None
    if not unknown.nnz:
        return y, None
    filled = matrix.copy()
    filled[unknown.nonzero()] = 0
    return filled if filled.dtype != object else filled.astype(float), unknown.astype(np.int8)


def _is_unknown(value: Any) -> bool:
    """Whether a value is None, NaN or pd.NA."""
    if isinstance(value, Collection):
        return False
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


_ARE_UNKNOWN = np.frompyfunc(_is_unknown, 1, 1)


def label_features(V: Any, named: "Named", width: int, features: Any) -> csr_array:
    """Check label features, in the order of the labels and of the features' names: float32, without stored zeros."""
    V = in_order_of(features, V, "label_features", "X")
    if hasattr(V, "columns") and hasattr(V, "index"):
        V = in_order_of(named.names, V.T, "label_features.T").T
    given, q = checked(V, "label_features", dtype=np.float32, ensure_2d=False), named.matrix.shape[1]
    if given.shape != (q, width):
        raise DataError(
            f"label_features has shape {given.shape}: give a row for each of the {q} labels, with {width} features"
        )
    matrix = as_csr(given).copy()
    matrix.eliminate_zeros()
    return matrix


def as_csr(matrix: Any) -> csr_array:
    """Return a checked matrix as a CSR array with sorted and unique columns; stored zeros are kept."""
    sparse = csr_array(matrix)
    if sparse.shape[1] > MAX_ID + 1:
        raise DataError(f"X has {sparse.shape[1]:,} features, and at most {MAX_ID + 1:,} can be")
    if not sparse.has_canonical_format:
        sparse = sparse.copy()  # leave the caller's matrix unchanged
        sparse.sum_duplicates()
    if sparse.indices.dtype != np.int32 and sparse.nnz <= np.iinfo(np.int32).max:  # kernels are compiled for each type
        arrays = sparse.data, sparse.indices.astype(np.int32), sparse.indptr.astype(np.int32)
        sparse = csr_array(arrays, shape=sparse.shape)
    return sparse


def indicator(y: Any, name: str = "y") -> csr_array:
    """Check an indicator matrix, dense or sparse, and return it as a CSR array of bool without stored zeros."""
    if are_label_sets(y):
        raise DataError(f"{name} has label sets: convert them with sklearn.preprocessing.MultiLabelBinarizer")
    return _matrix(y, name, None, (0, 1)).astype(bool)


def compared(
    y: Any, name: str, predicted: csr_array, called: str, ignored: Any = None, pos_label: Any = None
) -> tuple[csr_array, csr_array, csr_array | None]:
    """Check true labels (bool), and return them and the predictions, without the cells that do not count.

    These are the cells in `ignored`, and NaN, None, pd.NA or masked cells; the third result marks them (int8).
    `name`, `called`: names of the arguments in messages. `pos_label`: the value of a true label.
    """
    known, unknown = _without_unknown(y, pos_label)
    truth = indicator(known, name)
    if ignored is not None:
        cells = _cells(ignored, truth.shape, columns_of(y), "ignored", (0, 1))
        unknown = cells if unknown is None else csr_array(cells + unknown)
    if truth.shape != predicted.shape:
        raise DataError(f"{name} has shape {truth.shape}, and {called} {predicted.shape}")
    if unknown is None:
        return truth, predicted, None
    truth, predicted = (only_entries(matrix, ~entries_in(matrix, unknown)) for matrix in (truth, predicted))
    return truth, predicted, unknown


def are_label_sets(y: Any) -> bool:
    """Whether y is not a matrix, and contains a collection of labels for each instance; DataError if for some only.

    Number collections of equal length may be the rows of a matrix: they are label sets only if they are sets.
    """
    if issparse(y) or hasattr(y, "columns") or not isinstance(y, Iterable) or getattr(y, "ndim", 1) != 1:
        return False
    if isinstance(y, Iterator):
        raise DataError("y can be read only once: give a list")
    rows = list(y)
    are_sets = [isinstance(row, Collection) and not isinstance(row, str | bytes | Mapping) for row in rows]
    if not any(are_sets):
        return False
    if not all(are_sets):
        i = are_sets.index(False)
        raise DataError(
            f"y[{i}] is {rows[i]!r:.60}, and others are label sets: give a list or a set for each instance, and leave "
            "out instances whose labels are unknown"
        )
    if len({len(row) for row in rows}) > 1:
        return True
    return any(isinstance(row, set | frozenset) or any(isinstance(name, str) for name in row) for row in rows)


def from_label_sets(y: Any, classes: Any = None, more: bool = False) -> tuple[csr_array, np.ndarray]:
    """Return the indicator matrix of label sets, and the names of its columns.

    Duplicate labels of an instance count once. `classes` are all names, or with `more` the first ones; by default the
    names that occur, in ascending order. DataError if the labels are neither all texts nor all whole numbers, if a
    label is not among the names, or if the names are not unique.
    """
    rows = [list(dict.fromkeys(row)) for row in y]
    occurring = {label: i for i in reversed(range(len(rows))) for label in rows[i]}
    kinds = {str if isinstance(label, str) else int for label in occurring}
    for label, i in occurring.items():
        is_name = isinstance(label, str | Integral) and not isinstance(label, bool)
        if not is_name or (len(kinds) > 1 and not isinstance(label, str)):
            raise DataError(f"y[{i}] has the label {label!r}: give texts, or whole numbers, in all of y")
    first = sorted(occurring) if classes is None else list(classes)
    new = sorted(occurring.keys() - set(first), key=str)
    if new and not more:
        raise DataError(f"y[{occurring[new[0]]}] has the label {new[0]!r}, which is not among the classes")
    names = class_names(np.array(first + new, dtype=object), len(first + new))
    binarizer = MultiLabelBinarizer(classes=names, sparse_output=True)
    return indicator(binarizer.fit_transform(rows)), names


def class_names(classes: Any, q: int) -> np.ndarray:
    """Check that each of the q columns of an indicator matrix has a unique name; None: 0 to q - 1."""
    names = np.arange(q) if classes is None else np.asarray(classes)
    if names.dtype == object and names.ndim:
        if (plain := np.asarray(names.tolist())).dtype.kind in "iuf":
            names = plain  # MultiLabelBinarizer stores numbers as objects
        names = np.array([name.item() if isinstance(name, np.str_) else name for name in names], names.dtype)
    if names.shape != (q,):
        raise DataError(f"classes has shape {names.shape}, and y has {q} columns: give a name for each")
    if len(set(names.tolist())) < q:
        raise DataError("classes: duplicate name; each label needs its own")
    return names


def label_numbers(names: np.ndarray) -> np.ndarray | None:
    """Return names that are valid label numbers in files, whole numbers from 0, as int64; otherwise None."""
    if names.dtype.kind not in "iuf":
        return None
    whole = (names >= 0) & (names <= MAX_ID) & (names == np.floor(names))
    return names.astype(np.int64) if whole.all() else None


def label_names(names: np.ndarray, numbers: np.ndarray) -> LabelNames:
    """Return label names as stored in a model on disk; DataError for texts that do not read back from a line."""
    for name in names.tolist():
        if not isinstance(name, str) or not name or name != name.strip() or "\t" in name or "\n" in name:
            raise DataError(
                f"classes: a model on disk cannot keep the name {name!r}: give whole numbers from 0, or texts without "
                "tabs, line ends, and blanks at an end; or pickle the estimator"
            )
    return LabelNames.of({number: [name] for number, name in zip(numbers.tolist(), names.tolist(), strict=True)})


def _matrix(values: Any, name: str, shape: tuple[int, int] | None, allowed: tuple[int, ...]) -> csr_array:
    matrix = checked(values, name, dtype=None, ensure_2d=False)
    if matrix.ndim != 2:
        raise DataError(
            f"Unknown label type: {name} has shape {matrix.shape}. Only binary classification is supported, in a "
            "column for each class: give an indicator matrix, as sklearn.preprocessing.MultiLabelBinarizer makes of "
            "label sets, or a list of names for each instance"
        )
    if shape is not None and matrix.shape != shape:
        raise DataError(f"{name} has shape {matrix.shape}, and y has {shape}: give one value for each cell of y")
    entries = matrix.data if issparse(matrix) else matrix
    if matrix.dtype.kind not in "biufO" or not np.isin(entries, allowed).all():
        what, others = "Unknown label type: " if shape is None else "", ", ".join(map(str, allowed))
        advice = "" if shape else "; set pos_label to the value for true; label sets are lists, or sets of numbers"
        raise DataError(f"{what}{name} contains values other than {others}{advice}")
    sparse = csr_array(matrix, dtype=np.int8)
    if not sparse.has_canonical_format or not sparse.data.all():
        sparse = sparse.copy()
        sparse.sum_duplicates()
        sparse.eliminate_zeros()
    return sparse


def _cells(values: Any, shape: tuple[int, int], names: Any, name: str, allowed: tuple[int, ...]) -> csr_array:
    """Check values for the cells of y, which has this shape and these column names; None: zeros."""
    if values is None:
        return csr_array(shape, dtype=np.int8)
    return _matrix(in_order_of(names, values, name), name, shape, allowed)


def _columns(matrix: csr_array, columns: np.ndarray) -> csr_array:
    if np.array_equal(columns, np.arange(matrix.shape[1])):
        return matrix
    chosen = matrix[:, columns]
    chosen.sort_indices()
    return chosen


def _sampled(sampled: Any, named: Named) -> tuple[np.ndarray, csr_array | None]:
    """Return which instances were drawn at random, and each single cell's probability of being drawn."""
    shape = named.matrix.shape
    if sampled is None:
        return np.zeros(shape[0], bool), None
    if not issparse(sampled) and np.ndim(sampled) == 1:
        return _mask(sampled, "sampled", shape[0]), None
    chances = csr_array(checked(in_order_of(named.names, sampled, "sampled"), "sampled", dtype=np.float64), copy=True)
    chances.sum_duplicates()
    if chances.shape != shape:
        raise DataError(f"sampled has shape {chances.shape}: give one value for each instance, or for each cell of y")
    if not ((chances.data >= 0) & (chances.data <= 1)).all():
        raise DataError("sampled: the probabilities with which cells were drawn are from 0 to 1")
    chances.eliminate_zeros()
    whole = np.bincount(entry_rows(chances)[chances.data == 1], minlength=shape[0]) == shape[1]
    whole &= bool(named.matrix[whole].nnz)  # questions, too, are sure if all cells without annotation are asked about
    return whole, csr_array(chances.multiply(~whole[:, None]))


def _groups(names: Any, n: int, argument: str) -> InstanceGroups:
    if np.shape(names) != (n,):
        raise DataError(
            f"{argument} has shape {np.shape(names)}: give the name of a group for each of the {n} instances"
        )
    if len(unknown := np.flatnonzero(_ARE_UNKNOWN(np.asarray(names, object)))):
        raise DataError(f"{argument}[{unknown[0]}] is empty: give the name of a group for each instance")
    different, numbers = np.unique(np.asarray(names).astype(str), return_inverse=True)
    return InstanceGroups(numbers, tuple(different.tolist()))


def _mask(values: Any, name: str, n: int) -> np.ndarray:
    refuse_broken(values, name)
    mask = np.asarray(values)
    if mask.shape != (n,) or mask.dtype != bool:
        raise DataError(f"{name}: give True or False for each of the {n} instances")
    return mask
