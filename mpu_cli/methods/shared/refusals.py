"""Refusal of problems that exceed the free memory: D features, n instances, q labels."""

from mpu_cli.core.data.limits import refuse_beyond_free


def refuse_large_linear(D: int, n: int, q: int) -> None:
    """Raise TooLargeError if weights (D x q), dual variables and labels (n x q) exceed the free memory."""
    refuse_beyond_free(
        4 * D * q + 5 * n * q,
        f"the weights of {D:,} features (the largest index and 1) and the dual variables of {n:,} instances, "
        f"for {q:,} labels,",
        "renumber the features from 1 without gaps, or train fewer labels or instances",
    )


def refuse_large_kernel(n: int) -> None:
    """Raise TooLargeError if the kernel matrix of n instances (n x n) exceeds the free memory."""
    refuse_beyond_free(
        4 * n * n,
        f"the kernel values of {n:,} x {n:,} instances",
        "train on fewer instances, or with m3l-linear, which has no such matrix",
    )


def refuse_large_graph(n: int, q: int, neighbours: int | None = None) -> None:
    """Raise TooLargeError if two copies of the similarities of n instances exceed the free memory.

    They are n x n, or those of the neighbours of each instance.
    """
    others = min(n, 4 * neighbours) if neighbours else n  # in both directions, with their indices
    refuse_beyond_free(
        8 * n * others + 8 * n * q,
        f"the similarities of {n:,} x {others:,} instances, training and unlabelled ones,",
        "train on fewer instances, label fewer at a time, or use another method",
    )
