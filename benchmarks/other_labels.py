"""Missing labels found by features alone and by the other labels of an instance too, whichever way labels go missing.

About half of the labels are removed, R in number. Of the R most probable suggestions and of the first R/10: the share
that was removed; and the mean probability of the R. c is estimated. *instance*: half of the instances keep 80 % of
their labels and half 20 %, so that an annotation says how well its instance is annotated.

python -m benchmarks.other_labels --data DIR
"""

from pathlib import Path

import click
import numpy as np
from scipy.sparse import csr_array

from benchmarks.losing import SCHEMES, SETS, Collection, collection, lose
from mpu_cli.core.complete.other_labels import given_other_labels
from mpu_cli.core.complete.suggestions import Cells, Choice, suggest
from mpu_cli.core.data.problem import Problem
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.train.algorithm import Options, train
from mpu_cli.runtime.run import Run


def one(of: Collection, way: str, seed: int, run: Run) -> list[tuple[float, float, float]]:
    """Measure suggestions by the features, and by the other labels too."""
    S = lose(way, of, 0.5, seed)
    kept = S.any(axis=0)
    labels, missing = csr_array(S[:, kept]), (of.Y.toarray() & ~S)[:, kept]
    _, report = train(Problem(of.X, labels), Options(), run, hold_out_all=True)
    frequency, by_features = LabelFrequency.of(report.c, labels.shape), report.held_out.probabilities
    given = given_other_labels(by_features, labels, frequency, run)
    R = int((of.Y.toarray() & ~S).sum())
    found = [suggest(probabilities, labels, frequency, Choice(top=R)) for probabilities in (by_features, given)]
    return [(right(missing, some), right(missing, some[: R // 10]), some.probabilities.mean()) for some in found]


def right(missing: np.ndarray, listed: Cells) -> float:
    """Return the share of cells that were removed."""
    return float(missing[listed.rows, listed.columns].mean())


@click.command()
@click.option("--data", type=click.Path(path_type=Path), required=True, help="Folder of NAME-train.svm.gz and -test.")
@click.option("--sets", default=",".join(SETS), show_default=True)
@click.option("--seeds", default=1, show_default=True)
def main(data: Path, sets: str, seeds: int) -> None:
    """Print a table in Markdown."""
    click.echo("| set | lost | features: at R | at R/10 | mean | other labels too: at R | at R/10 | mean |")
    click.echo("|---|---|" + "---:|" * 6)
    for name in sets.split(","):
        if (of := collection(name, data)) is None:
            click.echo(f"{name}: its files are not in {data}; left out", err=True)
            continue
        for way in SCHEMES:
            of_seeds = np.mean([one(of, way, seed, Run()) for seed in range(seeds)], axis=0)
            click.echo(f"| {name} | {way} | " + " | ".join(f"{value:.3f}" for value in of_seeds.ravel()) + " |")


if __name__ == "__main__":
    main()
