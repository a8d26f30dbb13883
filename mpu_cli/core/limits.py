"""Refusal of what would not fit in memory, before the work begins."""

import os

from mpu_cli.errors import TooLargeError


def refuse_too_large(D: int, q: int, levels: int) -> None:
    """Raise TooLargeError where the weights, with those in training (a copy and a mean), exceed the machine's memory.

    Parameters
    ----------
    D, q, levels : int
        Features, labels and levels. Level l has D + l q weights a label.
    """
    model = 4 * q * (levels * D + levels * (levels - 1) // 2 * q)
    needed = model + 2 * 4 * q * (D + (levels - 1) * q)
    memory = _machine_memory()
    if needed > memory:
        raise TooLargeError(
            f"a model of {D:,} features (the largest index and 1) x {q:,} labels x {levels} levels takes "
            f"{model / 1e9:,.1f} GB, {needed / 1e9:,.1f} GB in training, and this machine has {memory / 1e9:,.1f} GB: "
            "renumber the features from 1 without gaps, or train fewer labels or levels"
        )


def refuse_large_sample(m: int, q: int) -> None:
    """Raise TooLargeError where the predictions by which c and C are chosen exceed the machine's memory.

    Parameters
    ----------
    m, q : int
        Instances of the sample and labels. Predictions of two settings are compared, with a copy and the labels.
    """
    needed = (3 * 4 + 1) * m * q
    if needed > (memory := _machine_memory()):
        raise TooLargeError(
            f"c and C are chosen by predictions for {m:,} instances x {q:,} labels, which take {needed:,} bytes "
            f"({needed / 1e9:,.1f} GB), and this machine has {memory / 1e9:,.1f} GB: give --sample N with fewer "
            "instances, or both --c and --cost"
        )


def _machine_memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
