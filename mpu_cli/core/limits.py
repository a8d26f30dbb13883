"""Refuse data and models that would not fit in memory, before the work begins.

D features, n or m instances, q labels.
"""

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.features import entry_rows
from mpu_cli.core.predictions import FEW_LABELS
from mpu_cli.errors import DataError, TooLargeError
from mpu_cli.runtime.run import available_memory, machine_memory

# With many labels, a kernel learns at least this many together.
_BLOCK = 64


def refuse_too_large(D: int, q: int, levels: int, is_dense: bool = False) -> None:
    """Raise TooLargeError if the weights in training exceed the machine's memory.

    Level l has D + l q weights per label; training also keeps a copy and a mean of them. More than 500 labels are
    learned one block at a time, and little is left of a block after pruning, unless all weights are dense.
    """
    features = D + (levels - 1) * q
    if is_dense or q <= FEW_LABELS:
        model = 4 * q * (levels * D + levels * (levels - 1) // 2 * q)
        needed = model + 2 * 4 * q * features
        what = f"a model of {D:,} features x {q:,} labels x {levels} levels takes {model / 1e9:,.1f} GB"
        _refuse_beyond_machine(needed, f"{what}, {needed / 1e9:,.1f} GB in training", "train fewer labels or levels")
        return
    needed = 2 * 4 * _BLOCK * features
    what = f"the weights of {features:,} features x {_BLOCK} labels, which are learned together, take {_size(needed)}"
    advice = "drop rare features, or train fewer labels or levels"
    _refuse_beyond_machine(needed, f"{what} with their mean", advice)


def refuse_labels_of_one(labels: csr_array) -> None:
    """Raise DataError if most labels occur in one instance only, with more than 500 such labels in each instance.

    These labels cannot be told apart, and each would be learned.
    """
    n, q = labels.shape
    is_alone = np.bincount(labels.indices, minlength=q)[labels.indices] == 1
    own = np.bincount(entry_rows(labels)[is_alone], minlength=n)
    if 2 * own[own > FEW_LABELS].sum() > q:
        raise DataError(
            f"instance {own.argmax() + 1} has {own.max():,} labels that no other instance has, of {q:,} labels in all; "
            "they cannot be learned: leave out the instance, or these labels"
        )


def refuse_large_sample(m: int, q: int, advice: str = "make sample smaller, or give both c and cost") -> None:
    """Raise TooLargeError if the predictions used to choose c and C exceed the machine's memory.

    The predictions with two settings are compared, which takes a copy and the labels as well.
    """
    needed = (3 * 4 + 1) * m * q
    what = f"c and C are chosen by predictions for {m:,} instances x {q:,} labels, which take {_size(needed)}"
    _refuse_beyond_machine(needed, what, advice)


def refuse_large_predictions(n: int, q: int) -> None:
    """Raise TooLargeError if the probabilities of all labels (n x q) exceed the free memory."""
    refuse_beyond_free(
        4 * n * q,
        f"the probabilities of {n:,} instances x {q:,} labels",
        "take fewer instances at a time, or the most probable labels only, by predict_top",
    )


def refuse_beyond_free(needed: int, what: str, advice: str) -> None:
    """Raise TooLargeError if `needed` bytes exceed the free memory; `what` names the object."""
    if needed > (free := available_memory()):
        raise TooLargeError(f"{what} take {_size(needed)}, and {free / 1e9:,.1f} GB are free: {advice}")


def _refuse_beyond_machine(needed: int, what: str, advice: str) -> None:
    if needed > (memory := machine_memory()):
        raise TooLargeError(f"{what}, and this machine has {memory / 1e9:,.1f} GB: {advice}")


def _size(n_bytes: int) -> str:
    return f"{n_bytes:,} bytes ({n_bytes / 1e9:,.1f} GB)"
