"""Refusal of what would not fit in memory."""

from mpu_cli.errors import TooLargeError
from mpu_cli.runtime.storage import available_memory


def refuse_large_linear(D: int, n: int, q: int) -> None:
    """Raise TooLargeError where weights (D x q), dual variables and labels (n x q) exceed the free memory."""
    _refuse(
        4 * D * q + 5 * n * q,
        f"the weights of {D:,} features (the largest index and 1) and the dual variables of {n:,} instances, "
        f"for {q:,} labels,",
        "renumber the features from 1 without gaps, or train fewer labels or instances",
    )


def refuse_large_kernel(n: int) -> None:
    """Raise TooLargeError where the kernel matrix of n instances (n x n) exceeds the memory that there is."""
    _refuse(
        4 * n * n,
        f"the kernel values of {n:,} x {n:,} instances",
        "train on fewer instances, or with m3l-linear, which has no such matrix",
    )


def refuse_large_graph(n: int, q: int) -> None:
    """Raise TooLargeError where the similarities of n instances (n x n, twice for a while) exceed the free memory."""
    _refuse(
        8 * n * n + 8 * n * q,
        f"the similarities of {n:,} x {n:,} instances, training and unlabelled ones,",
        "train on fewer instances, label fewer at a time, or use another method",
    )


def _refuse(needed: int, what: str, advice: str) -> None:
    available = available_memory()
    if needed > available:
        raise TooLargeError(
            f"{what} take {needed:,} bytes ({needed / 1e9:,.1f} GB), and {available / 1e9:,.1f} GB are free: {advice}"
        )
