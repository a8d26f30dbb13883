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


def refuse_large_predictions(n: int, q: int) -> None:
    """Raise TooLargeError where the probabilities of all labels (n x q) exceed the free memory."""
    refuse_beyond_free(
        4 * n * q,
        f"the probabilities of {n:,} instances x {q:,} labels",
        "take fewer instances at a time, or the most probable labels only, by predict_top",
    )


def refuse_beyond_free(needed: int, what: str, advice: str) -> None:
    """Raise TooLargeError where so many bytes, which are what is named, exceed the free memory."""
    if needed > (free := available_memory()):
        raise TooLargeError(f"{what} take {_size(needed)}, and {free / 1e9:,.1f} GB are free: {advice}")


def _size(n_bytes: int) -> str:
    return f"{n_bytes:,} bytes ({n_bytes / 1e9:,.1f} GB)"
