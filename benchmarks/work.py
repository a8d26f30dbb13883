"""Bytes moved and operations done by the kernels, counted from the sizes of the data."""

from dataclasses import dataclass

INDEX_BYTES = VALUE_BYTES = 4  # of an entry: int32 and float32


@dataclass(frozen=True)
class Work:
    """What a kernel does in one go.

    Attributes
    ----------
    memory : float
        Bytes that have to come from or go to memory however large the caches are.
    traffic : float
        Bytes that the kernel loads and stores where no cache keeps a weight from one use to the next.
    operations : float
        Arithmetic operations in float32; a multiplication and addition are two.
    """

    memory: float
    traffic: float
    operations: float


def epoch(instances: int, features: int, nnz: int, labels: int) -> Work:
    """Count one epoch of stochastic gradient descent for all labels.

    Each entry of the data multiplies its row of weights into the instance's scores, and once more its gradient into the
    row: two multiply-adds a label, one read and one read and write of a row. The logistic function of each instance
    and label counts as 10 operations.
    """
    data = _entries(instances, nnz)
    row = labels * VALUE_BYTES
    return Work(
        memory=data + 2 * features * row,
        traffic=2 * data + 3 * nnz * row,
        operations=4 * nnz * labels + 10 * instances * labels,
    )


def prediction(instances: int, features: int, nnz: int, labels: int) -> Work:
    """Count the scores of all labels: one multiply-add an entry and label, one read of a row, scores written."""
    data = _entries(instances, nnz)
    row = labels * VALUE_BYTES
    return Work(
        memory=data + features * row + instances * row,
        traffic=data + nnz * row + instances * row,
        operations=2 * nnz * labels + 10 * instances * labels,
    )


def parsing(text_bytes: int, instances: int, nnz: int) -> Work:
    """Count reading a file: the text comes from memory, the entries go there. No floating-point work is counted."""
    moved = text_bytes + _entries(instances, nnz)
    return Work(memory=moved, traffic=moved, operations=0)


def _entries(instances: int, nnz: int) -> int:
    return nnz * (INDEX_BYTES + VALUE_BYTES) + instances * INDEX_BYTES
