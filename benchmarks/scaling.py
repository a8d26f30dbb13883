"""How a training on a cluster scales: the bytes that its workers move, and the time that computing and moving take.

Simulates the units of work that `core.mixing` makes of a training with two levels, on workers of one thread: a part
stays where it is, and models are sent where they are needed. How long a unit takes is measured here, on the first
instances of FILE.
"""

import heapq
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import click
import numpy as np

from mpu_cli.core import parts
from mpu_cli.core.features import Features
from mpu_cli.core.label_frequency import LabelFrequency
from mpu_cli.core.mixing import Mixing, Selected, rounds_of, shards_of
from mpu_cli.core.parts import EVERYTHING, PartRows, Selection
from mpu_cli.core.sgd import LinearModel, Settings, label_blocks
from mpu_cli.runtime.executor import Handle
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.reader import read

FLOAT = 4  # bytes
GIGABIT = 125e6  # bytes
# Instances of a part: 64 MB of text in the shape of RCV1.
_PART = 50_000
_SETTINGS = Settings(cost=100.0, step=6.0, epochs=1)
# Of the last level, the share of the instances that are predicted before they are learned from.
_LAST = 40


@dataclass(frozen=True)
class Costs:
    """Seconds on one thread: of learning and predicting an instance, and of adding two models."""

    learn: float
    predict: float
    add: float


@dataclass(eq=False)
class Unit:
    """A unit of work on a worker, with the bytes of its result; a part is one that takes no time."""

    worker: int
    seconds: float = 0.0
    bytes: int = 0
    inputs: Sequence["Unit"] = ()
    done: float = 0.0


@dataclass
class Simulation:
    """An `Executor` that notes what is to be run, and tells how long it takes.

    Attributes
    ----------
    costs : Costs
    instances : int
        Of a part.
    features, labels : int
    units : list of Unit
    """

    costs: Costs
    instances: int
    features: int
    labels: int
    units: list[Unit] = field(default_factory=list)

    @property
    def model_bytes(self) -> int:
        """Return the size of a model."""
        return FLOAT * (self.features + 1) * self.labels

    def submit(self, function: Callable, *arguments: Any) -> Handle:
        """Note a unit, which runs where its first argument is: the part, if it takes one."""
        inputs = [one for argument in arguments for one in _listed(argument) if isinstance(one, Unit)]
        if not inputs:
            return Unit(0)  # a cold start, which is small
        size = sum(one.bytes for one in inputs) if function is parts.joined else inputs[0].bytes
        if function is LinearModel.block:
            size = round(self.model_bytes * self._share_of_labels(arguments[1]))
        seconds = self.costs.add * size / self.model_bytes
        if function is parts.learn:
            share = self._share_of_labels(arguments[2])
            size = round(self.model_bytes * share)
            seconds = self.costs.learn * self.instances * _share(arguments[1]) * share
        elif function is parts.predict_out_of_fold:
            seconds, size = self.costs.predict * self.instances, 0
        elif function is parts.predict_selected:
            seconds, size = self.costs.predict * self.instances * _share(arguments[1]), 0
        self.units.append(Unit(inputs[0].worker, seconds, size, inputs))
        return self.units[-1]

    def _share_of_labels(self, block: slice) -> float:
        return (block.stop - block.start) / self.labels

    def spread(self, function: Callable, argument_tuples: Sequence[tuple]) -> list[Handle]:
        """Note the units."""
        return [self.submit(function, *arguments) for arguments in argument_tuples]

    def keep(self, value: Any) -> Handle:
        """Return the value."""
        return value

    def wait(self, handles: Sequence[Handle], tick: Callable[[], None] = lambda: None) -> None:
        """Do nothing."""

    def gather(self, handles: Sequence[Handle]) -> list[Any]:
        """Return the handles."""
        return list(handles)

    def run(self, bandwidth: float) -> tuple[float, int]:
        """Return seconds, and bytes moved, where a worker receives so many bytes per second.

        A worker runs what is ready first. What it has received once, it keeps.
        """
        users = defaultdict(list)
        missing = Counter[Unit]()
        for unit in self.units:
            for one in unit.inputs:
                if one.seconds:  # a part is there already
                    users[one].append(unit)
                    missing[unit] += 1
        order = count()  # of those that are ready at the same time
        ready = [(0.0, next(order), unit) for unit in self.units if not missing[unit]]
        free, link = Counter[int](), Counter[int]()
        received: dict[tuple[Unit, int], float] = {}
        moved = 0
        while ready:
            when, _, unit = heapq.heappop(ready)
            for one in unit.inputs:
                if one.worker == unit.worker:
                    continue
                if (one, unit.worker) not in received:
                    link[unit.worker] = max(link[unit.worker], one.done) + one.bytes / bandwidth
                    received[one, unit.worker] = link[unit.worker]
                    moved += one.bytes
                when = max(when, received[one, unit.worker])
            free[unit.worker] = unit.done = max(when, free[unit.worker]) + unit.seconds
            for user in users[unit]:
                missing[user] -= 1
                if not missing[user]:
                    heapq.heappush(ready, (max(one.done for one in user.inputs), next(order), user))
        return max(unit.done for unit in self.units), moved


def _listed(argument: Any) -> list[Any]:
    return argument if isinstance(argument, list) else [argument]


def _share(selection: Selection) -> float:
    if selection.folds == 1:
        return 1.0
    return 1 / selection.folds if selection.inside else 1 - 1 / selection.folds


def levels(
    costs: Costs, n_parts: int, instances: int, features: int, labels: int, workers: int, shards: int
) -> Iterator[Simulation]:
    """Yield the two levels of a training, as `core.distributed` has them.

    Parameters
    ----------
    costs : Costs
    n_parts, instances : int
        Parts, and instances of each.
    features, labels : int
    workers, shards : int
    """

    def selected(selection: Selection) -> Selected:
        return Selected(selection, [round(instances * _share(selection))] * n_parts, np.ones(labels))

    frequency = LabelFrequency.of(np.ones(labels), (n_parts * instances, labels))
    n = n_parts * instances
    for level in range(2):
        simulation = Simulation(costs, instances, features + level * labels, labels)
        mixing = Mixing(simulation, frequency, shards, rounds_of(shards), Run())
        order = [number for shard in shards_of(n_parts, shards) for number in shard]
        worker_of = {number: place * workers // n_parts for place, number in enumerate(order)}
        placed = [Unit(worker_of[number]) for number in range(n_parts)]
        if level == 0:
            of_halves = [selected(Selection(2, half)) for half in range(2)]
            halves = [mixing.learn(placed, half, _SETTINGS, n) for half in of_halves]
            mixing.mean(halves, [1, 1])
            for part in placed:
                simulation.submit(parts.predict_out_of_fold, part, halves)
        else:
            first, last = selected(Selection(_LAST)), selected(Selection(_LAST, inside=True))
            begun = mixing.learn(placed, first, _SETTINGS, n)
            mixing.go_on(placed, last, _SETTINGS, begun, len(first))
            for part in placed:
                simulation.submit(parts.predict_selected, part, last.selection, begun)
        yield simulation


def measured(file: Path) -> tuple[Costs, int, int]:
    """Return what a part costs, and how many features and labels there are."""
    data = read(file)
    labels, _ = data.occurring_labels()
    rows = np.arange(min(len(data), _PART))
    part = PartRows(Features.of(data.features[rows]), labels[rows], 0)
    rates, run = np.ones(labels.shape[1]), Run(jobs=1)
    start = LinearModel(np.empty((0, labels.shape[1]), np.float32), np.full(labels.shape[1], -3, np.float32))

    def learned(model: LinearModel) -> LinearModel:
        blocks = label_blocks(labels.shape[1], run)
        of_blocks = [
            parts.learn(part, EVERYTHING, block, rates, _SETTINGS, model.block(block), 0, len(part), 0, run)
            for block in blocks
        ]
        return parts.joined(of_blocks)

    model = learned(start)  # compiled now
    seconds = [_timed(lambda: learned(model)), _timed(lambda: parts.predict_selected(part, EVERYTHING, model, run))]
    costs = Costs(seconds[0] / len(part), seconds[1] / len(part), _timed(lambda: parts.added(model, model)))
    return costs, data.features.shape[1], labels.shape[1]


def _timed(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--gigabits", default="1,10,25", show_default=True, help="Networks.")
def main(file: Path, gigabits: str) -> None:
    """Print how a training in the shape of FILE scales from 16 parts of 50,000 instances to 1,000 times as many."""
    costs, n_features, n_labels = measured(file)
    networks = [float(speed) for speed in gigabits.split(",")]
    click.echo(
        f"a part: {costs.learn * _PART:.3f} s to learn, {costs.predict * _PART:.3f} s to predict; "
        f"a model: {FLOAT * n_features * n_labels / 1e6:.1f} MB, {costs.add:.3f} s to add two\n"
    )
    speeds = " | ".join(f"{speed:g} Gbit/s, s" for speed in networks)
    moved = "moved, GB | to a worker in a round, MB"
    click.echo(f"| instances | workers | shards | rounds | {moved} | computing alone, s | {speeds} |")
    click.echo("|---:" * (7 + len(networks)) + "|")
    for times, workers, shards in _CASES:
        shape = 16 * times, _PART, n_features, n_labels, workers, shards
        runs = [
            [simulation.run(bandwidth) for simulation in levels(costs, *shape)]
            for bandwidth in (float("inf"), *(speed * GIGABIT for speed in networks))
        ]
        seconds = [sum(took for took, _ in of_levels) for of_levels in runs]
        size, rounds = sum(bytes_ for _, bytes_ in runs[0]), rounds_of(shards)
        cells = [f"{times * 16 * _PART:,}", workers, shards, rounds, f"{size / 1e9:,.1f}"]
        cells += [f"{size / (2 * rounds + 1) / workers / 1e6:,.0f}", *(f"{took:,.1f}" for took in seconds)]
        click.echo("| " + " | ".join(map(str, cells)) + " |")


# How many times the 16 parts, workers, and shards.
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

if __name__ == "__main__":
    main()
