"""The figure of the README: test micro-F1 against the share of the labels that is missing, by mpu and by the usual way.

`python -m benchmarks.front_figure TRAIN TEST FIGURE.svg` removes labels of TRAIN at five rates by `mpu corrupt` and
learns from the same files by `mpu train` with default options, by `--c 1` (missing labels as negatives, the threshold
by cross-validation) and by `br` of `mpu experiment` (a logistic regression for each label, which predicts from 0.5 on).
It draws the micro-F1 on TEST, whose labels are complete. What was measured goes to a table beside the figure.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from sklearn.metrics import f1_score

from mpu_cli.core.predictions import count_positives
from mpu_cli.experiment.methods import make
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.reader import read

RATES = (0, 0.2, 0.4, 0.6, 0.8)
TRAININGS = {"mpu": [], "missing label = negative, threshold tuned": ["--c", "1"]}
WAYS = (*TRAININGS, "missing label = negative")


def main() -> None:
    """Measure, write the table, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("train", type=Path)
    parser.add_argument("test", type=Path)
    parser.add_argument("figure", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = [[rate, *_quality(arguments.train, arguments.test, rate, Path(folder))] for rate in RATES]
    lines = ["\t".join(["missing", *WAYS]), *("\t".join(f"{value:.3g}" for value in row) for row in rows)]
    arguments.figure.with_suffix(".tsv").write_text("\n".join(lines) + "\n")
    draw(rows, arguments.figure)


def _quality(train: Path, test: Path, rate: float, folder: Path) -> list[float]:
    """Test micro-F1 of each way, all of the same annotations."""
    noisy, model = folder / f"{rate}.svm", folder / "model"
    mpu("corrupt", train, noisy, "--missing-rate", rate)
    reached = []
    for options in TRAININGS.values():
        mpu("train", noisy, "-o", model, "--quiet", *options)
        reached.append(json.loads(mpu("evaluate", test, model, "--json"))["micro_f1"])
    return [*reached, _of_logistic_regressions(noisy, test)]


def _of_logistic_regressions(train: Path, test: Path) -> float:
    """Test micro-F1 of a logistic regression for each label of the training data."""
    learned, truth = read(str(train)), read(str(test))
    D = max(data.features.shape[1] for data in (learned, truth))
    q = max(data.labels.shape[1] for data in (learned, truth))
    for data in (learned, truth):
        data.features.resize(len(data), D)
        data.labels.resize(len(data), q)
    annotated = np.flatnonzero(count_positives(learned.labels))
    method = make("br", Run())
    method.fit(learned.features, csr_array(learned.labels[:, annotated]))
    predicted = np.zeros((len(truth), q), bool)
    predicted[:, annotated] = method.predict(truth.features) >= method.threshold
    return f1_score(truth.labels.toarray(), predicted, average="micro")


def mpu(*arguments: object) -> str:
    """Run the command; return what it prints."""
    command = [sys.executable, "-m", "mpu_cli", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def draw(rows: list[list[float]], figure: Path) -> None:
    """Draw a line for each way, named at its end."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "mpu"  # the same bytes from the same numbers
    from matplotlib import pyplot

    shares = [100 * row[0] for row in rows]
    _, axes = pyplot.subplots(figsize=(6.4, 3.2), layout="constrained")
    for column, (way, style) in enumerate(zip(WAYS, ("o-", "s--", "^:"), strict=True), start=1):
        axes.plot(shares, [row[column] for row in rows], style, label=way)
    axes.set(xlabel="labels missing in training, %", ylabel="micro-F1 on complete labels", ylim=(0, 1))
    axes.legend(loc="lower left", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    pyplot.savefig(figure, metadata={"Date": None})


if __name__ == "__main__":
    main()
