"""Time of `mpu predict` for many labels: a model of random sparse weights stands for one that takes hours to learn."""

import sys
from pathlib import Path

import click
import numpy as np
from scipy.sparse import csr_array

from benchmarks import machine, measure
from benchmarks.report import MEGABYTE
from mpu_cli import bundle
from mpu_cli.core.features import Columns
from mpu_cli.core.linear_model import LinearModel
from mpu_cli.core.predictions import Top
from mpu_cli.core.stacking import StackedModel

WEIGHTS = (20, 100)  # of a label at each level, from and to
STACKED_WEIGHTS = 4  # of a label, for the predictions of others; one more is for its own
VALUES = 50  # of an instance, at most
_FREQUENT = 0.6  # share of the weights and values that are of frequent features
FORMS = ("labels --top-k 5", "labels", "scores --top-k 5", "scores", "jsonl --top-k 5")


def draw_features(rng: np.random.Generator, n: int, D: int) -> np.ndarray:
    """Draw features: most by Zipf's law, the others evenly."""
    share = 1 / (np.arange(D) + 10.0)
    return np.where(rng.random(n) < _FREQUENT, rng.choice(D, n, p=share / share.sum()), rng.integers(0, D, n))


def make_model(D: int, q: int, seed: int = 0) -> bundle.TrainedModel:
    """Make a model of two levels."""
    rng = np.random.default_rng(seed)
    levels = []
    for level in (0, 1):
        labels = np.repeat(np.arange(q), rng.integers(*WEIGHTS, q))
        rows, values = draw_features(rng, len(labels), D), rng.normal(0.5, 1, len(labels))
        if level:
            others = np.repeat(np.arange(q), STACKED_WEIGHTS)
            rows = np.concatenate([rows, D + rng.integers(0, q, len(others)), D + np.arange(q)])
            values = np.concatenate([values, rng.normal(0, 1, len(others)), np.full(q, 3.0)])
            labels = np.concatenate([labels, others, np.arange(q)])
        weights = csr_array((values.astype(np.float32), (rows, labels)), shape=(D + level * q, q))
        levels.append(LinearModel(weights, rng.normal(-7, 1, q).astype(np.float32)))
    known = Columns(np.arange(D, dtype=np.int32), D)
    model = StackedModel(tuple(levels), 4.0, np.full(q, 0.3, np.float32), top=Top(), columns=known)
    return bundle.TrainedModel(model, np.arange(q), np.ones(q), known, {})


def write_instances(path: Path, n: int, D: int, seed: int = 1) -> None:
    """Write instances of unit length."""
    rng = np.random.default_rng(seed)
    with path.open("w") as file:
        for _ in range(n):
            columns = np.unique(draw_features(rng, VALUES, D))
            values = rng.random(len(columns))
            values /= np.linalg.norm(values)
            file.write("0 " + " ".join(f"{j}:{x:.6f}" for j, x in zip(columns.tolist(), values.tolist(), strict=True)))
            file.write("\n")


@click.command(context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--labels", type=click.IntRange(min=1), default=100_000)
@click.option("--features", type=click.IntRange(min=1), default=100_000)
@click.option("--instances", type=click.IntRange(min=1), default=20_000)
@click.option("--repetitions", type=click.IntRange(min=1), default=3, help="The shortest counts.")
def main(model: Path, data: Path, labels: int, features: int, instances: int, repetitions: int) -> None:
    """Print a table of times of `mpu predict MODEL DATA`. MODEL and DATA are made where they are not there.

    \b
    Example:
      python -m benchmarks.predict_many /tmp/many.mpu /tmp/many.svm
      python -m benchmarks.predict_many trained.mpu test.svm
    """
    if not model.exists():
        bundle.save(make_model(features, labels), model)
    if not data.exists():
        write_instances(data, instances, features)
    n = data.read_bytes().count(b"\n")
    command = [sys.executable, "-m", "mpu_cli", "predict", str(model), str(data), "-o", f"{data}.predicted", "--quiet"]
    measure.run(command, timeout=3600)  # kernels may have to be compiled
    click.echo(f"{machine.describe()}; {n:,} instances\n")
    click.echo("| format | s | CPU, s | instances/s | peak anonymous, MB |\n|---|---:|---:|---:|---:|")
    for form in FORMS:
        runs = [measure.run([*command, "--format", *form.split()], timeout=3600) for _ in range(repetitions)]
        seconds, cpu = (min(getattr(run, name) for run in runs) for name in ("seconds", "cpu_seconds"))
        peak = max(run.anonymous for run in runs) / MEGABYTE  # the maximum would count what this process has
        click.echo(f"| {form} | {seconds:.2f} | {cpu:.2f} | {n / seconds:,.0f} | {peak:,.0f} |")


if __name__ == "__main__":
    main()
