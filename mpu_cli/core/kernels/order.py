"""The order in which PU-SGD visits instances: random, and yet near one another in memory for a while.

Instances are shuffled within groups, each of random blocks of successive instances, and groups are visited in random
order. So a group's instances, from all over the data, are read from memory or disk once, and for its other batches from
what is nearer. The order depends on the number of instances only, not on where they are kept.
"""

import numpy as np

# Instances: few enough to take some hundred megabytes at most; up to as many, the order is random altogether.
_GROUP = 131_072
# Enough to fill some pages of memory, few enough for a group to have thousands of blocks: instances may be sorted.
_BLOCK = 32


def shuffled(rows: np.ndarray, batch_size: int, seed: int) -> np.ndarray:
    """Put instances in the order in which they fall into batches, and batches into groups.

    Parameters
    ----------
    rows : ndarray of int, shape (n,)
        The instances, ascending.
    batch_size : int
    seed : int
    """
    rng = np.random.default_rng(seed)
    groups = _groups(-(-len(rows) // batch_size), batch_size)
    if len(groups) > 1:
        blocks = np.split(rows, range(_BLOCK, len(rows), _BLOCK))
        rows = np.concatenate([blocks[b] for b in rng.permutation(len(blocks))])
    return np.concatenate([rng.permutation(rows[g.start * batch_size : g.stop * batch_size]) for g in groups])


def visited(n_batches: int, batch_size: int, rng: np.random.Generator) -> np.ndarray:
    """Return the order of the batches in an epoch: a permutation of ``range(n_batches)``."""
    groups = _groups(n_batches, batch_size)
    if len(groups) > 1:
        groups = [groups[g] for g in rng.permutation(len(groups))]
    return np.concatenate([g.start + rng.permutation(g.stop - g.start) for g in groups])


def _groups(n_batches: int, batch_size: int) -> list[slice]:
    """Cut batches into groups of nearly equal size."""
    n_groups = max(-(-n_batches * batch_size // _GROUP), 1)
    return [slice(g * n_batches // n_groups, (g + 1) * n_batches // n_groups) for g in range(n_groups)]
