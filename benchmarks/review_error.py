"""How far the frequencies of labels are off after a review.

The error is the mean of |log(estimate / truth)| over labels, weighted by their true labels, and over sets and seeds.

    python -m benchmarks.review_error --data DIR
"""

from collections.abc import Iterator

import click
import numpy as np
from scipy.sparse import csr_array

from benchmarks.losing import SCHEMES, Collection, lose, on_sets
from benchmarks.review_sizes import SIZES, reviewed
from mpu_cli.core.features import Features
from mpu_cli.core.frequency.estimators import CountedCells, estimate
from mpu_cli.core.frequency.review_frequency import from_review
from mpu_cli.core.options import FrequencyOptions
from mpu_cli.core.problem import Instances
from mpu_cli.core.sample import Sample
from mpu_cli.runtime.run import Run

NAMES = ("automatic", "review")
_KEPT = 0.5


def errors(of: Collection, scheme: str, seed: int, run: Run) -> Iterator[tuple[str, int, float]]:
    """Give the way of estimating, the size of the review, and the error."""
    S = lose(scheme, of, _KEPT, seed)
    columns = S.any(axis=0)
    labels = csr_array(S[:, columns])
    true = of.Y.sum(axis=0)[columns]
    c = labels.sum(axis=0) / true
    sample = Sample(Instances(Features.of(of.X), labels), FrequencyOptions.sample, None, run)
    automatic = estimate(CountedCells.of(sample.naive_probabilities(), labels)).c

    def error(rates: np.ndarray | float) -> float:
        return float(np.average(np.abs(np.log(rates / c)), weights=true))

    for size in SIZES:
        found = reviewed(of, S, size, seed=1000 + seed)
        verified = found["verified"], found["sampled"]
        yield NAMES[0], size, error(automatic)
        yield NAMES[1], size, error(from_review(labels, *verified).rates)


@on_sets
@click.option("--seeds", default=3, show_default=True)
def main(sets: dict[str, Collection], run: Run, seeds: int) -> None:
    """Print a table in Markdown."""
    click.echo("| lost | estimate | " + " | ".join(map(str, SIZES)) + " |")
    click.echo("|---|---|" + "---:|" * len(SIZES))
    for scheme in SCHEMES:
        by_way: dict[tuple[str, int], list[float]] = {}
        for of in sets.values():
            for seed in range(seeds):
                for name, size, value in errors(of, scheme, seed, run):
                    by_way.setdefault((name, size), []).append(value)
        for name in NAMES:
            cells = " | ".join(f"{np.mean(by_way[name, size]):.2f}" for size in SIZES)
            click.echo(f"| {scheme} | {name} | {cells} |")


if __name__ == "__main__":
    main()
