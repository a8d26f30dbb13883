"""Refusal of what would not fit in memory, before the work begins. D features, n or m instances, q labels."""

from mpu_cli.core.data.predictions import FEW_LABELS
from mpu_cli.errors import TooLargeError
from mpu_cli.runtime.storage import available_memory, machine_memory

# Labels that a kernel learns together, of many, at least.
_BLOCK = 64


def refuse_too_large(D: int, q: int, levels: int) -> None:
    """Raise TooLargeError where the weights in training exceed the machine's memory.

    Level l has D + l q weights for each label. Of more than 500 labels there is a block at a time, and what is left of
    it by pruning is small.
    """
    if q <= FEW_LABELS:
        refuse_large_weights(D, q, levels)
        return
    features = D + (levels - 1) * q
    needed = 2 * 4 * _BLOCK * features
    if needed > (memory := machine_memory()):
        raise TooLargeError(
            f"the weights of {features:,} features x {_BLOCK} labels, which are learned together, take "
            f"{_size(needed)} with their mean, and this machine has {memory / 1e9:,.1f} GB: drop rare features, "
            "or train fewer labels or levels"
        )


def refuse_large_weights(D: int, q: int, levels: int = 1) -> None:
    """Raise TooLargeError where the weights of all labels, with those in training (a copy and a mean), exceed that."""
    model = 4 * q * (levels * D + levels * (levels - 1) // 2 * q)
    needed = model + 2 * 4 * q * (D + (levels - 1) * q)
    if needed > (memory := machine_memory()):
        raise TooLargeError(
            f"a model of {D:,} features x {q:,} labels x {levels} levels takes "
            f"{model / 1e9:,.1f} GB, {needed / 1e9:,.1f} GB in training, and this machine has {memory / 1e9:,.1f} GB: "
            "train fewer labels or levels"
        )


def refuse_large_sample(m: int, q: int, advice: str = "make sample smaller, or give both c and cost") -> None:
    """Raise TooLargeError where the predictions by which c and C are chosen exceed the machine's memory.

    Predictions of two settings are compared, with a copy and the labels.
    """
    needed = (3 * 4 + 1) * m * q
    if needed > (memory := machine_memory()):
        raise TooLargeError(
            f"c and C are chosen by predictions for {m:,} instances x {q:,} labels, which take {_size(needed)}, and "
            f"this machine has {memory / 1e9:,.1f} GB: {advice}"
        )


def refuse_large_linear(D: int, n: int, q: int) -> None:
    """Raise TooLargeError where weights (D x q), dual variables and labels (n x q) exceed the free memory."""
    _refuse_beyond_free(
        4 * D * q + 5 * n * q,
        f"the weights of {D:,} features (the largest index and 1) and the dual variables of {n:,} instances, "
        f"for {q:,} labels,",
        "renumber the features from 1 without gaps, or train fewer labels or instances",
    )


def refuse_large_kernel(n: int) -> None:
    """Raise TooLargeError where the kernel matrix of n instances (n x n) exceeds the free memory."""
    _refuse_beyond_free(
        4 * n * n,
        f"the kernel values of {n:,} x {n:,} instances",
        "train on fewer instances, or with m3l-linear, which has no such matrix",
    )


def refuse_large_graph(n: int, q: int, neighbours: int | None = None) -> None:
    """Raise TooLargeError where the similarities of n instances exceed the free memory, twice as they are for a while.

    They are n x n, or as many as so many neighbours of each have.
    """
    others = min(n, 4 * neighbours) if neighbours else n  # both ways, with their places
    _refuse_beyond_free(
        8 * n * others + 8 * n * q,
        f"the similarities of {n:,} x {others:,} instances, training and unlabelled ones,",
        "train on fewer instances, label fewer at a time, or use another method",
    )


def refuse_large_predictions(n: int, q: int) -> None:
    """Raise TooLargeError where the probabilities of all labels (n x q) exceed the free memory."""
    _refuse_beyond_free(
        4 * n * q,
        f"the probabilities of {n:,} instances x {q:,} labels",
        "take fewer instances at a time, or the most probable labels only, by predict_top",
    )


def _refuse_beyond_free(needed: int, what: str, advice: str) -> None:
    if needed > (free := available_memory()):
        raise TooLargeError(f"{what} take {_size(needed)}, and {free / 1e9:,.1f} GB are free: {advice}")


def _size(n_bytes: int) -> str:
    return f"{n_bytes:,} bytes ({n_bytes / 1e9:,.1f} GB)"
