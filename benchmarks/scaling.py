"""How a training on a cluster scales: the bytes that its workers move, and the time that computing and moving take.

Simulates the very units of work that a training with two levels makes (`simulation`, and of more than 500 labels
`scaling_groups`), on workers of one thread. How long a unit takes is measured here, on the first instances of FILE.
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.rehearsal import Rehearsal, costs_of
from benchmarks.scaling_groups import simulated
from benchmarks.simulation import Costs, DenseModel, Simulation, share
from mpu_cli.core import parts
from mpu_cli.core.data.features import Features
from mpu_cli.core.data.predictions import FEW_LABELS
from mpu_cli.core.frequency.label_frequency import LabelCounts
from mpu_cli.core.instances import Selected
from mpu_cli.core.options import Options
from mpu_cli.core.parts import PartRows
from mpu_cli.core.sgd import Settings
from mpu_cli.core.train.mixing import Mixing, rounds_of
from mpu_cli.core.validation import Plan, Selection
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.reader import read

_GIGABIT = 125e6  # bytes
# Instances of a part: 64 MB of text in the shape of RCV1.
_PART = 50_000
_SETTINGS = Settings(cost=100.0, step=6.0, epochs=1)
_OF_MANY = Options(c=1.0, cost=300.0, eta0=16.0, epochs=1, levels=2)
# Of the last level, the share of the instances that are predicted before they are learned from.
_LAST = 40


def levels(
    costs: Costs, n_parts: int, instances: int, features: int, labels: int, workers: int, shards: int
) -> Iterator[Simulation]:
    """Yield the two levels of a training of few labels, as `core.train.mixing` has them.

    Parameters
    ----------
    costs : Costs
    n_parts, instances : int
        Parts, and instances of each.
    features, labels : int
    workers, shards : int
    """

    def selected(selection: Selection) -> Selected:
        return Selected(selection, [round(instances * share(selection))] * n_parts, counts)

    n, ones = n_parts * instances, np.ones(labels)
    counts = LabelCounts(n * ones, ones, np.zeros(labels))
    for level in range(2):
        simulation = Simulation(costs, instances, features + level * labels, workers)
        mixing = Mixing(simulation, ones, _SETTINGS, shards, Run())
        placed = simulation.placed(n_parts, shards)
        plan = Plan.halves() if level == 0 else Plan.progressive(_LAST)
        models = [mixing.through(placed, [selected(one) for one in chain.learned]) for chain in plan.whole]
        mixing.mean([of_chain[-1] for of_chain in models], [1] * len(models))
        for part in placed:
            given = [of_chain[0] for of_chain in models], [chain.predicted for chain in plan.whole]
            simulation.submit(parts.predict_held_out, part, *given)
        yield simulation


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--gigabits", default="1,10,25", show_default=True, help="Networks.")
@click.option("--size", default=_PART, show_default=True, help="Instances of a part.")
@click.option("--case", "cases", nargs=2, type=int, multiple=True, help="Of many labels: parts, and workers.")
def main(file: Path, gigabits: str, size: int, cases: Sequence[tuple[int, int]]) -> None:
    """Print how a training in the shape of FILE scales with instances, workers and networks."""
    speeds = gigabits.split(",")
    bandwidths = [math.inf, *(float(speed) * _GIGABIT for speed in speeds)]
    networks = ["computing alone, s", *(f"{speed} Gbit/s, s" for speed in speeds)]
    data = read(file)
    many = data.occurring_labels()[0].shape[1] > FEW_LABELS
    rows = _of_many(data, size, bandwidths, cases or _CASES_OF_MANY) if many else _of_few(data, size, bandwidths)
    for number, row in enumerate(rows):
        click.echo("| " + " | ".join(map(str, [*row, *networks] if number == 0 else row)) + " |")
        if number == 0:
            click.echo("|---:" * (len(row) + len(networks)) + "|")


def _of_few(data: Dataset, size: int, bandwidths: Sequence[float]) -> Iterator[list[Any]]:
    """Yield the head and the rows of a table."""
    labels, _ = data.occurring_labels()
    part = PartRows(Features.of(data.features[:size]), labels[:size], 0)
    costs = costs_of(part, _SETTINGS)
    model = DenseModel(data.features.shape[1], labels.shape[1])
    cells = size * model.labels
    click.echo(
        f"a part: {costs.learn * cells:.3f} s to learn, {costs.predict * cells:.3f} s to predict; "
        f"a model: {model.bytes / 1e6:.1f} MB, {costs.add * model.bytes:.3f} s to add two\n"
    )
    yield ["instances", "workers", "shards", "rounds", "moved, GB", "to a worker in a round, MB"]
    for times, workers, shards in _CASES:
        n_parts, rounds = 16 * times, rounds_of(shards)
        simulations = list(levels(costs, n_parts, size, model.features, model.labels, workers, shards))
        runs = [[simulation.run(bandwidth) for simulation in simulations] for bandwidth in bandwidths]
        moved = sum(outcome.moved for outcome in runs[0])
        row = [f"{n_parts * size:,}", workers, shards, rounds, f"{moved / 1e9:,.1f}"]
        row.append(f"{moved / (2 * rounds + 1) / workers / 1e6:,.0f}")
        yield [*row, *(f"{sum(outcome.seconds for outcome in of_levels):,.1f}" for of_levels in runs)]


def _of_many(
    data: Dataset, size: int, bandwidths: Sequence[float], cases: Sequence[tuple[int, int]]
) -> Iterator[list[Any]]:
    """Yield the head and the rows of a table."""
    rehearsal = Rehearsal.of(data, size, _OF_MANY)
    size = len(rehearsal.part)
    click.echo(f"{rehearsal.summary()}\n")
    yield ["instances", "workers", "units", "moved, GB", "to a worker, MB", "memory of a worker, GB"]
    for n_parts, workers in cases:
        simulation = simulated(rehearsal, n_parts, workers)
        runs = [simulation.run(bandwidth) for bandwidth in bandwidths]
        moved = runs[0].moved
        row = [f"{n_parts * size:,}", workers, f"{len(simulation.units):,}", f"{moved / 1e9:,.1f}"]
        row += [f"{moved / workers / 1e6:,.0f}", f"{max(outcome.memory for outcome in runs) / 1e9:,.1f}"]
        yield [*row, *(f"{outcome.seconds:,.0f}" for outcome in runs)]


# How many times as many as 16 parts, workers, and shards.
_CASES = [
    (1, 1, 4),
    (1, 2, 4),
    (1, 4, 4),
    (1, 8, 4),
    (10, 8, 4),
    (10, 20, 4),
    (10, 20, 16),
    (100, 20, 16),
    (100, 128, 16),
    (100, 128, 64),
    (1000, 128, 16),
    (1000, 128, 64),
]
# Parts, and workers.
_CASES_OF_MANY = [(10, 2), (10, 8), (100, 8), (100, 32), (100, 128)]

if __name__ == "__main__":
    main()
