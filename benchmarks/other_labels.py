"""Missing labels found by features alone and by the other labels of an instance too, whichever way labels go missing.

About half of the labels are removed, R in number. Of the R most probable suggestions and of the first R/10: the share
that was removed; and the mean probability of the R. c is estimated. *instance*: half of the instances keep 80 % of
their labels and half 20 %, so that an annotation says how well its instance is annotated.

python -m benchmarks.other_labels --data DIR
"""

import click
import numpy as np
from scipy.sparse import csr_array

from benchmarks.losing import SCHEMES, Collection, lose, on_sets
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.options import Options
from mpu_cli.core.predictions import Cells
from mpu_cli.core.problem import Problem
from mpu_cli.core.stacking import train
from mpu_cli.people.posteriors import Choice, Evidence, list_missing
from mpu_cli.people.suggestions import given_other_labels
from mpu_cli.runtime.run import Run


def one(of: Collection, way: str, seed: int, run: Run) -> list[tuple[float, float, float]]:
    """Measure suggestions by the features, and by the other labels too."""
    S = lose(way, of, 0.5, seed)
    kept = S.any(axis=0)
    labels, missing = csr_array(S[:, kept]), (of.Y.toarray() & ~S)[:, kept]
    _, report = train(Problem(of.X, labels), Options(), run, hold_out_all=True)
    frequency, by_features = LabelFrequency.of(report.chosen.c, labels.shape), report.held_out.probabilities
    given = given_other_labels(Evidence(by_features, frequency), labels, run)
    R = int((of.Y.toarray() & ~S).sum())
    found = [list_missing(probabilities, labels, frequency, Choice(top=R)) for probabilities in (by_features, given)]
    return [(right(missing, some), right(missing, some[: R // 10]), some.probabilities.mean()) for some in found]


def right(missing: np.ndarray, listed: Cells) -> float:
    """Return the share of cells that were removed."""
    return float(missing[listed.rows, listed.columns].mean())


@on_sets
@click.option("--seeds", default=1, show_default=True)
def main(sets: dict[str, Collection], run: Run, seeds: int) -> None:
    """Print a table in Markdown."""
    click.echo("| set | lost | features: at R | at R/10 | mean | other labels too: at R | at R/10 | mean |")
    click.echo("|---|---|" + "---:|" * 6)
    for name, of in sets.items():
        for way in SCHEMES:
            of_seeds = np.mean([one(of, way, seed, run) for seed in range(seeds)], axis=0)
            click.echo(f"| {name} | {way} | " + " | ".join(f"{value:.3f}" for value in of_seeds.ravel()) + " |")


if __name__ == "__main__":
    main()
