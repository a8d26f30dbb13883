"""A simulated cluster: an `Executor` that notes units of work and tells how long they take and what they move.

Workers have one thread. A unit runs where its first argument is, a part stays where it is, and results are sent where
they are needed. A worker receives at the speed of the network, and all send as fast as that takes.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, count
from typing import Any

from mpu_cli.cluster.dask_executor import size_of
from mpu_cli.core import parts
from mpu_cli.core.model.stacking import LinearModel
from mpu_cli.core.parts import Selection
from mpu_cli.core.train.mixing import shards_of
from mpu_cli.runtime.parallel import Handle

FLOAT = 4  # bytes
# The worker that stands for the client, which starts the units and gathers results.
_CLIENT = -1


@dataclass(frozen=True)
class Costs:
    """Seconds on one thread: of learning and predicting a label of an instance, and of adding a byte of two models."""

    learn: float
    predict: float
    add: float


@dataclass(frozen=True)
class DenseModel:
    """Stands for a model with dense weights."""

    features: int
    labels: int

    @property
    def bytes(self) -> int:
        """Return its size."""
        return FLOAT * (self.features + 1) * self.labels


@dataclass(eq=False, slots=True)
class Unit:
    """A unit of work on a worker; without inputs, a part of the instances, which is there already.

    Attributes
    ----------
    worker : int
    seconds : float
    bytes : int
        Of its result.
    inputs : sequence of Unit
        Whose results it takes.
    after : sequence of Unit
        What the client has waited for before.
    value : object
        The result, or what stands for it.
    done : float
        When it has run.
    """

    worker: int
    seconds: float = 0.0
    bytes: int = 0
    inputs: Sequence["Unit"] = ()
    after: Sequence["Unit"] = ()
    value: Any = None
    done: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """What a simulated training takes.

    Attributes
    ----------
    seconds : float
    moved : int
        Bytes.
    memory : int
        Bytes of the results that the fullest worker has at a time.
    """

    seconds: float
    moved: int
    memory: int


@dataclass
class Simulation:
    """An `Executor` that notes what is to be run.

    Attributes
    ----------
    costs : Costs
    instances : int
        Of a part.
    features : int
    threads : int
        Workers.
    units : list of Unit
    """

    costs: Costs
    instances: int
    features: int
    threads: int = 1
    units: list[Unit] = field(default_factory=list)
    _waiting: Unit | None = field(default=None, init=False)

    def placed(self, n_parts: int, shards: int, value: Any = None) -> list[Handle]:
        """Return so many parts, those of a shard on neighbouring workers, as `DistributedProblem` has them."""
        order = [number for shard in shards_of(n_parts, shards) for number in shard]
        worker_of = {number: place * self.threads // n_parts for place, number in enumerate(order)}
        return [Unit(worker_of[number], bytes=size_of(value), value=value) for number in range(n_parts)]

    def submit(self, function: Callable, *arguments: Any) -> Handle:
        """Note a unit."""
        inputs = [one for argument in arguments for one in _listed(argument) if isinstance(one, Unit)]
        if not inputs:
            return Unit(0, value=function(*arguments))  # a cold start, which is small
        seconds, size, value = self.estimate(function, arguments, inputs)
        return self._noted(Unit(self.place(function, inputs), seconds, size, inputs, self._waited_for, value))

    def estimate(self, function: Callable, arguments: Sequence[Any], inputs: Sequence[Unit]) -> tuple[float, int, Any]:
        """Return the seconds of a unit, and the bytes and value of its result."""
        part = inputs[0].value
        if function is parts.learn:
            model = DenseModel(self.width(part), arguments[2].stop - arguments[2].start)
            return self.costs.learn * self.instances * share(arguments[1].selection) * model.labels, model.bytes, model
        if function is parts.predict_held_out:
            instances = self.instances * sum(map(share, arguments[2]))
            return self.costs.predict * instances * arguments[1][0].value.labels, 0, None
        model = part
        if function is LinearModel.block:
            model = DenseModel(model.features, arguments[1].stop - arguments[1].start)
        elif function is parts.joined:
            model = DenseModel(model.features, sum(one.value.labels for one in inputs))
        return self.costs.add * model.bytes, model.bytes, model

    def width(self, part: Any) -> int:
        """Return the number of features of a part."""
        return self.features

    def place(self, function: Callable, inputs: Sequence[Unit]) -> int:
        """Return the worker of a unit."""
        return inputs[0].worker

    def spread(self, function: Callable, argument_tuples: Sequence[tuple]) -> list[Handle]:
        """Note the units."""
        return [self.submit(function, *arguments) for arguments in argument_tuples]

    def keep(self, value: Any) -> Handle:
        """Return the value."""
        return value

    def wait(self, handles: Sequence[Handle], tick: Callable[[], None] = lambda: None) -> None:
        """Have what is submitted from now on run after these."""
        self._waiting = self._noted(Unit(_CLIENT, after=[*handles, *self._waited_for]))

    def gather(self, handles: Sequence[Handle]) -> list[Any]:
        """Return the values; they are sent to the client."""
        self._waiting = self._noted(Unit(_CLIENT, inputs=handles, after=self._waited_for))
        return [one.value for one in handles]

    @property
    def _waited_for(self) -> Sequence[Unit]:
        return () if self._waiting is None else (self._waiting,)

    def _noted(self, unit: Unit) -> Unit:
        self.units.append(unit)
        return unit

    def run(self, bandwidth: float) -> Outcome:
        """Return what the units take where a worker receives so many bytes per second.

        A worker runs what is ready first. What it has received once, it keeps until it is not needed any more.
        """
        users = defaultdict(list)
        missing = Counter[Unit]()
        for unit in self.units:
            for one in {*unit.inputs, *unit.after}:
                if one.inputs or one.after:
                    users[one].append(unit)
                    missing[unit] += 1
        order = count()  # of those that are ready at the same time
        ready = [(0.0, next(order), unit) for unit in self.units if not missing[unit]]
        free, link = Counter[int](), Counter[int]()
        held: dict[tuple[Unit, int], tuple[float, float]] = {}  # from when and until when a worker has a result
        moved = 0
        while ready:
            when, _, unit = heapq.heappop(ready)
            for one in unit.inputs:
                if one.worker != unit.worker and (one, unit.worker) not in held:
                    link[unit.worker] = max(link[unit.worker], one.done) + one.bytes / bandwidth
                    held[one, unit.worker] = link[unit.worker], 0.0
                    moved += one.bytes
                when = max(when, held[one, unit.worker][0] if one.worker != unit.worker else one.done)
            free[unit.worker] = unit.done = max(when, free[unit.worker]) + unit.seconds
            held[unit, unit.worker] = unit.done, unit.done
            for one in unit.inputs:
                for worker in {one.worker, unit.worker}:
                    since, until = held.get((one, worker), (0.0, 0.0))
                    held[one, worker] = since, max(until, unit.done)
            for user in users[unit]:
                missing[user] -= 1
                if not missing[user]:
                    start = max((one.done for one in (*user.inputs, *user.after)), default=0.0)
                    heapq.heappush(ready, (start, next(order), user))
        return Outcome(max(unit.done for unit in self.units), moved, _most_held(held))


def _most_held(held: dict[tuple[Unit, int], tuple[float, float]]) -> int:
    """Return the bytes that the fullest worker has at a time."""
    changes = defaultdict(list)
    for (unit, worker), (since, until) in held.items():
        if worker != _CLIENT and unit.bytes:
            changes[worker] += [(since, unit.bytes), (until, -unit.bytes)]
    sizes = (accumulate(size for _, size in sorted(of_worker, key=_when)) for of_worker in changes.values())
    return max(map(max, sizes), default=0)


def _when(change: tuple[float, int]) -> tuple[float, int]:
    """Return by what changes are put in order: what is made is there before what it was made of goes."""
    when, size = change
    return when, -size


def share(selection: Selection) -> float:
    """Return the share of the instances that is selected."""
    if selection.folds == 1:
        return 1.0
    return 1 / selection.folds if selection.inside else 1 - 1 / selection.folds


def _listed(argument: Any) -> list[Any]:
    return argument if isinstance(argument, list) else [argument]
