"""Whether a method is behind by the order of its scores, or by where it cuts them.

python -m benchmarks.rankings FILE... compares methods, and plain nearest neighbours, on the first fold of
`mpu experiment --instances 6000`.
"""

import click
import numpy as np
from scipy.sparse import csr_array
from sklearn.metrics import average_precision_score, roc_auc_score

from mpu_cli.cli.actions.experiment import read_pooled
from mpu_cli.core.features import with_width
from mpu_cli.experiment.cells import Cell, Design
from mpu_cli.experiment.methods import fit_and_predict
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.grammar import DEFAULT_READING

RATES = (0.0, 0.6)
INSTANCES, FOLDS = 6_000, 10
COMPARED = ("mpu", "br", "well")
NEIGHBOURS = (5, 20, 50)
HEADER = ("", "missing", "own rule", "best threshold", "true counts", "P@1", "average precision", "area")


def micro_f1(truth: np.ndarray, predicted: np.ndarray) -> float:
    """Return the micro-F1 of label sets, bool, shape (n, q)."""
    return 2 * (truth & predicted).sum() / max(truth.sum() + predicted.sum(), 1)


def by_true_counts(scores: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Give each label to as many instances as truly have it, those with the highest scores."""
    rank = np.argsort(np.argsort(-scores, axis=0, kind="stable"), axis=0)
    return rank < truth.sum(axis=0)


def measure(truth: np.ndarray, scores: np.ndarray, thresholds: np.ndarray) -> list[float]:
    """Return what the header says from "own rule" on."""
    there = truth.any(axis=0)
    candidates = np.unique(np.quantile(scores[scores > 0], np.linspace(0, 1, 400)))
    return [
        micro_f1(truth, scores >= thresholds),
        max(micro_f1(truth, scores >= t) for t in candidates),
        micro_f1(truth, by_true_counts(scores, truth)),
        truth[np.arange(len(truth)), scores.argmax(axis=1)].mean(),
        average_precision_score(truth[:, there].ravel(), scores[:, there].ravel()),
        roc_auc_score(truth[:, there], scores[:, there], average="macro"),
    ]


def neighbours(training: csr_array, labels: csr_array, test: csr_array, k: int) -> np.ndarray:
    """Return the mean labels of the k most similar training instances, weighted by their cosine (unit length)."""
    width = max(training.shape[1], test.shape[1])
    similar = (with_width(test, width) @ with_width(training, width).T).toarray()
    nearest = np.argpartition(-similar, k, axis=1)[:, :k]
    weights = np.take_along_axis(similar, nearest, axis=1)
    dense = labels.toarray().astype(float)
    return np.einsum("ik,ikq->iq", weights, dense[nearest]) / weights.sum(axis=1, keepdims=True)


@click.command()
@click.argument("files", nargs=-1, required=True)
def main(files: tuple[str, ...]) -> None:
    """Print a table in Markdown."""
    run = Run(jobs=1)
    data = read_pooled(files, DEFAULT_READING, run)
    design = Design(COMPARED, RATES, (INSTANCES,), folds=FOLDS, run_folds=1)
    click.echo("| " + " | ".join(HEADER) + " |\n|---|" + "---:|" * (len(HEADER) - 1))
    for rate in RATES:
        training, test, _ = design.split(data, Cell("any", rate, 0, INSTANCES))
        truth = test.labels.toarray().astype(bool)
        scored, half = {}, np.full(truth.shape[1], 0.5)
        for name in COMPARED:
            found = fit_and_predict(name, training, test, run)
            scored[name] = found.scores, found.thresholds
        for k in NEIGHBOURS:
            scored[f"{k} nearest"] = neighbours(training.features, training.labels, test.features, k), half
        for name, (scores, thresholds) in scored.items():
            numbers = " | ".join(f"{number:.3f}" for number in measure(truth, scores, thresholds))
            click.echo(f"| `{name}` | {rate:.0%} | {numbers} |")


if __name__ == "__main__":
    main()
