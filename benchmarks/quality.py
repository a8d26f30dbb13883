"""The quality of the predictions of a tool, as one JSON object: the same computation for all tools.

A process of its own, so that the one that measures others stays small.
"""

import json
from pathlib import Path

import click
import numpy as np
from scipy.sparse import csr_array

from mpu_cli.evaluation.compare import labels_from_scores
from mpu_cli.evaluation.metrics import (
    LabelSetMetrics,
    Propensities,
    RankingMetrics,
    entries_in,
)
from mpu_cli.svmlight.grammar import Reading
from mpu_cli.svmlight.reader import Dataset, read

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
PREDICTIONS = Reading(scores=True)


def best_threshold(truth: Dataset, listed: Dataset) -> float:
    """Return the score from which on labels count as predicted in the label sets of largest micro-F1."""
    scores = listed.features
    order = np.argsort(-scores.data, kind="stable")
    descending = scores.data[order]
    hits = np.cumsum(entries_in(scores, truth.labels)[order])
    f1 = 2 * hits / (np.arange(1, len(order) + 1) + truth.labels.nnz)
    ends = np.flatnonzero(np.append(descending[1:] != descending[:-1], True))  # equal scores go together
    return float(descending[ends[np.argmax(f1[ends])]])


def micro_and_macro_f1(truth: Dataset, predicted: csr_array) -> tuple[float, float]:
    """Return the micro- and the macro-averaged F1 of label sets."""
    counts = LabelSetMetrics()
    counts.add(truth.labels, predicted)
    results = counts.results()
    return results["micro_f1"], results["macro_f1"]


def quality(
    train: Path, test: Path, ranking: Path, label_sets: Path | None, threshold: float | None
) -> dict[str, float]:
    """Compute all metrics.

    Parameters
    ----------
    train : Path
        Data whose label counts give the propensities: with all labels, also where the tool has learned from fewer.
    test : Path
    ranking : Path
        Score lists, of the most probable labels.
    label_sets : Path or None
        Label lists by the tool's own rule.
    threshold : float or None
        Where there are none: the tool's own rule, a score from which on a label is predicted. None where it has none.
    """
    truth, listed = read(str(test)), read(str(ranking), PREDICTIONS)
    known = Propensities.of_annotations([read(str(train)).labels])

    ranks = RankingMetrics()
    ranks.add(truth.labels, listed.features, known.weighted(truth.labels))
    result = ranks.results() | ranks.propensity_scored()

    best = best_threshold(truth, listed)
    result["best_micro_f1"], result["best_macro_f1"] = micro_and_macro_f1(
        truth, labels_from_scores(listed.features, best)
    )
    if label_sets is not None:
        result["micro_f1"], result["macro_f1"] = micro_and_macro_f1(truth, read(str(label_sets), PREDICTIONS).labels)
    elif threshold is not None:
        predicted = labels_from_scores(listed.features, threshold)
        result["micro_f1"], result["macro_f1"] = micro_and_macro_f1(truth, predicted)
    return result


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("train", type=FILE)
@click.argument("test", type=FILE)
@click.argument("ranking", type=FILE)
@click.option("--label-sets", type=FILE, help="Label lists by the tool's own rule.")
@click.option("--threshold", type=float, help="The tool's own rule: the score from which on a label is predicted.")
def main(train: Path, test: Path, ranking: Path, label_sets: Path | None, threshold: float | None) -> None:
    """Print the quality of RANKING, predictions of TEST; propensities are those of TRAIN."""
    click.echo(json.dumps(quality(train, test, ranking, label_sets, threshold)))


if __name__ == "__main__":
    main()
