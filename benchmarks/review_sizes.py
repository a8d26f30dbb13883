"""What a review gains: test micro-F1 by how labels went missing and how many instances were reviewed.

Where about half of the labels are missing, instances are drawn at random and completely reviewed. Beside it stand no
review, and c known for each label. `docs/choices/reviews.md` has the table.

    python -m benchmarks.review_sizes --data DIR
"""

from typing import Any

import click
import numpy as np
from scipy.sparse import csr_array

from benchmarks.losing import SCHEMES, Collection, lose, on_sets
from mpu_cli.core.options import Options
from mpu_cli.core.problem import Problem, VerifiedLabels
from mpu_cli.core.selection import TrainingResult
from mpu_cli.core.stacking import train
from mpu_cli.runtime.run import Run

SIZES = (10, 25, 50, 100, 200, 500)
_KEPT = 0.5


def micro_f1(of: Collection, S: np.ndarray, options: Options, run: Run, **review: Any) -> tuple[float, TrainingResult]:
    """Learn from the labels that are annotated somewhere and score test predictions of all."""
    columns = np.flatnonzero(S.any(axis=0))
    model, report = train(Problem(of.X, csr_array(S[:, columns]), **review), options, run)
    predicted = np.zeros(of.Y_test.shape, bool)
    predicted[:, columns] = model.probabilities(of.X_test, run) >= model.thresholds
    truth = of.Y_test.toarray()
    return 2 * float((predicted & truth).sum()) / float(predicted.sum() + truth.sum()), report


def reviewed(of: Collection, S: np.ndarray, size: int, seed: int) -> dict[str, Any]:
    """Review so many instances drawn at random."""
    rows = np.sort(np.random.default_rng(seed).choice(len(S), size, replace=False))
    true = of.Y[rows][:, np.flatnonzero(S.any(axis=0))].nonzero()
    verified = VerifiedLabels.of((len(S), int(S.any(axis=0).sum())), true=(rows[true[0]], true[1]), complete=rows)
    return {"verified": verified, "sampled": rows}


def row(of: Collection, scheme: str, draws: int, run: Run) -> list[float]:
    """Measure one way of losing labels: without review, at each size, and with c known."""
    scores = []
    for draw in range(draws):
        S = lose(scheme, of, _KEPT, seed=draw)
        kept = S.sum(axis=0) / np.maximum(of.Y.sum(axis=0), 1)
        by_size = [reviewed(of, S, size, seed=1000 + draw) for size in SIZES]
        tried = [(Options(), {}), *((Options(), review) for review in by_size), (Options(c=kept[kept > 0]), {})]
        scores.append([micro_f1(of, S, options, run, **review)[0] for options, review in tried])
    return np.mean(scores, axis=0).tolist()


@on_sets
@click.option("--schemes", default=",".join(SCHEMES), show_default=True)
@click.option("--draws", default=1, show_default=True, help="How often labels are lost and instances drawn.")
def main(sets: dict[str, Collection], run: Run, schemes: str, draws: int) -> None:
    """Print a table in Markdown."""
    click.echo("| set | lost | no review | " + " | ".join(map(str, SIZES)) + " | c known |")
    click.echo("|---|---|" + "---:|" * (len(SIZES) + 2))
    for name, of in sets.items():
        for scheme in schemes.split(","):
            scores = row(of, scheme, draws, run)
            click.echo(f"| {name} | {scheme} | " + " | ".join(f"{score:.3f}" for score in scores) + " |")


if __name__ == "__main__":
    main()
