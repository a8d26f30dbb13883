"""Whether the intervals of the label frequencies of single labels cover, and how far off the estimates are.

    python -m benchmarks.single_frequencies DIRECTORY --seeds 3

Labels are removed from complete training files, at one rate for all or at a rate of its own for each label. What is to
be covered is the share of the true instances of a label that has kept it.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from benchmarks.losing import annotated, collection
from mpu_cli.core.features import Features
from mpu_cli.core.frequency.estimators import FEWEST_ANNOTATIONS, CountedCells, estimate
from mpu_cli.core.frequency.single_frequencies import alike, estimate_singly
from mpu_cli.core.problem import Instances
from mpu_cli.core.sample import Sample
from mpu_cli.runtime.run import Run

_SETS = ("yeast", "digits", "bibtex", "reuters-topics")
_WAYS = {
    "uniform, 0.7 kept": ("uniform", 0.7),
    "uniform, 0.4 kept": ("uniform", 0.4),
    "own rates, 0.1 to 0.9 kept": ("label", 0.5),
}
_INSTANCES = 20_000


class Row(NamedTuple):
    """What was found in one removal, of the labels with at least 50 annotations, and of the others.

    covered, covered_few : shares of the labels whose interval has the truth
    width, error : mean width of intervals, and mean error of log c
    missing, pooled : labels that are missing by c of each label, and by c of all, over those that are
    """

    covered: float
    covered_few: float
    width: float
    error: float
    error_of_pooled: float
    missing: float
    pooled: float


def measure(true: csr_array, X: csr_array, way: str, kept: float, seed: int, jobs: int) -> Row:
    """Remove labels and estimate."""
    dense, left = true.toarray(), annotated(way, X, true, kept, seed).toarray()
    some = np.flatnonzero(left.any(axis=0))
    dense, labels = dense[:, some], csr_array(left[:, some])
    sample = Sample(Instances(Features.of(X), labels), _INSTANCES, None, Run(seed=seed, jobs=jobs))
    probabilities = sample.naive_probabilities()
    cells = CountedCells.of(probabilities, labels)
    of_all = estimate(cells)
    counts = np.asarray(labels.sum(axis=0)).ravel()
    single = estimate_singly(cells, of_all)[0] or alike(cells, of_all, np.full(len(counts), of_all.c))
    truth = counts / dense.sum(axis=0)
    covered = (single.intervals[:, 0] <= truth) & (truth <= single.intervals[:, 1])
    many = counts >= FEWEST_ANNOTATIONS
    lost = dense.sum() - labels.nnz
    each = counts * (1 / single.c - 1)
    return Row(
        covered[many].mean(),
        covered[~many].mean() if not many.all() else np.nan,
        np.ptp(single.intervals[many], axis=1).mean(),
        np.abs(np.log(single.c / truth))[many].mean(),
        np.abs(np.log(of_all.c / truth))[many].mean(),
        each.sum() / lost,
        labels.nnz * (1 / of_all.c - 1) / lost,
    )


def lines(data: Path, seeds: int, jobs: int) -> Iterator[str]:
    """Yield a table."""
    yield "| set | removal | " + " | ".join(name.replace("_", " ") for name in Row._fields) + " |"
    yield "|---|---|" + "---:|" * len(Row._fields)
    for name in _SETS:
        found = collection(name, data)
        if found is None:
            continue
        for said, (way, kept) in _WAYS.items():
            rows = [measure(found.Y, found.X, way, kept, seed, jobs) for seed in range(seeds)]
            yield f"| {name} | {said} | " + " | ".join(f"{value:.2f}" for value in np.nanmean(rows, axis=0)) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="directory of the sets; those that are not there are left out")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=-1)
    given = parser.parse_args()
    for line in lines(given.data, given.seeds, given.jobs):
        print(line, flush=True)


if __name__ == "__main__":
    main()
