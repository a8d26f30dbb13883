"""How often `core.frequency.common_frequency` says that one label frequency is not tenable, where it is and is not.

python -m benchmarks.one_frequency --data DIR
"""

from pathlib import Path

import click
import numpy as np
from scipy.sparse import csr_array

from benchmarks.losing import SCHEMES, SETS, Collection, collection, lose
from mpu_cli.core.data.features import Features
from mpu_cli.core.frequency.common_frequency import CommonFrequency, compare
from mpu_cli.core.select.sample import SAMPLE_SIZE, Sample
from mpu_cli.runtime.run import Run

RATES = (0.9, 0.7, 0.5, 0.3)
_HALF = 0.5


def one(of: Collection, scheme: str, kept: float, seed: int, run: Run) -> CommonFrequency:
    """Lose labels and look for evidence."""
    S = lose(scheme, of, kept, seed)
    labels = csr_array(S[:, S.any(axis=0)])
    return compare(Sample(Features.of(of.X), labels, SAMPLE_SIZE, None, run).naive_probabilities(), labels)


@click.command()
@click.option("--data", type=click.Path(path_type=Path), required=True, help="Folder of NAME-train.svm.gz and -test.")
@click.option("--sets", default=",".join(SETS), show_default=True)
@click.option("--seeds", default=40, show_default=True, help="For uniform loss; half as many for the other ways.")
@click.option("--jobs", default=-1, show_default=True, help="Threads.")
def main(data: Path, sets: str, seeds: int, jobs: int) -> None:
    """Print a table in Markdown: the share of the seeds in which one frequency is not tenable."""
    ways = [("uniform", rate) for rate in RATES] + [(scheme, _HALF) for scheme in SCHEMES if scheme != "uniform"]
    click.echo("| set | " + " | ".join(f"{scheme}, {kept}" for scheme, kept in ways) + " |")
    click.echo("|---|" + "---:|" * len(ways))
    for name in sets.split(","):
        if (of := collection(name, data)) is None:
            click.echo(f"{name}: its files are not in {data}; left out", err=True)
            continue
        shares = []
        for scheme, kept in ways:
            tries = range(seeds if scheme == "uniform" else (seeds + 1) // 2)
            shares.append(np.mean([not one(of, scheme, kept, seed, Run(jobs=jobs)).tenable for seed in tries]))
        click.echo(f"| {name} | " + " | ".join(f"{share:.2f}" for share in shares) + " |")


if __name__ == "__main__":
    main()
