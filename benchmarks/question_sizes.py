"""What answers gain: test micro-F1 by how labels went missing and how many questions were answered.

Half of the labels are missing. The first questions of a list of 200 are answered from the truth. Beside them stand no
answers, and c known for each label. `docs/choices/reviews.md` has the table.

    python -m benchmarks.question_sizes --data DIR
"""

from collections.abc import Iterator
from typing import Any

import click
import numpy as np
from scipy.sparse import csr_array

from benchmarks.losing import SCHEMES, Collection, lose, on_sets
from benchmarks.review_sizes import micro_f1
from mpu_cli.core.options import LINEAR, FrequencyOptions, Options
from mpu_cli.core.problem import Answers, Problem, VerifiedLabels
from mpu_cli.people.posteriors import Scored
from mpu_cli.runtime.run import Run

SIZES = (20, 40, 100, 200)
_KEPT = 0.5


def answered(of: Collection, S: np.ndarray, seed: int, run: Run) -> Iterator[dict[str, Any]]:
    """Ask, and give the first answers: verified labels too."""
    columns = S.any(axis=0)
    labels, Y = csr_array(S[:, columns]), of.Y.toarray()[:, columns]
    run = Run(seed=seed, jobs=run.jobs)
    asked = Scored(Problem(of.X, labels), FrequencyOptions(features=LINEAR), run).questions(SIZES[-1])
    everything = Answers(asked.rows, asked.columns, Y[asked.rows, asked.columns])
    for size in SIZES:
        some = everything[:size]
        true, false = ((some.rows[of_kind], some.columns[of_kind]) for of_kind in (some.true, ~some.true))
        yield {"verified": VerifiedLabels.of(labels.shape, true=true, false=false), "answers": some}


def row(of: Collection, scheme: str, draw: int, run: Run) -> list[float]:
    """Measure one draw of a way of losing labels: without answers, with so many, and with c known."""
    S = lose(scheme, of, _KEPT, seed=draw)
    kept = S.sum(axis=0) / np.maximum(of.Y.sum(axis=0), 1)
    linear, known = Options(features=LINEAR), Options(features=LINEAR, c=kept[kept > 0])
    tried = [(linear, {}), *((linear, more) for more in answered(of, S, draw, run)), (known, {})]
    return [micro_f1(of, S, options, run, **more)[0] for options, more in tried]


@on_sets
@click.option("--schemes", default=",".join(SCHEMES), show_default=True)
@click.option("--draws", default="40,41,42,43,44", show_default=True, help="Seeds by which labels are lost.")
def main(sets: dict[str, Collection], run: Run, schemes: str, draws: str) -> None:
    """Print a table in Markdown, with a row for each draw."""
    click.echo("| set | lost | draw | none | " + " | ".join(map(str, SIZES)) + " | known |")
    click.echo("|---|---|" + "---:|" * (len(SIZES) + 3))
    for seed in map(int, draws.split(",")):
        for name, of in sets.items():
            for scheme in schemes.split(","):
                scores = row(of, scheme, seed, run)
                click.echo(f"| {name} | {scheme} | {seed} | " + " | ".join(f"{score:.3f}" for score in scores) + " |")


if __name__ == "__main__":
    main()
