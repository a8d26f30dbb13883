"""Evaluate files by a cluster, each by one worker: ``mpu evaluate --cluster``."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from operator import add
from pathlib import Path
from typing import Generic

from mpu_cli.cluster.address import OnCluster
from mpu_cli.cluster.reading import State, absolute, refuse_other, state_of
from mpu_cli.commands.evaluate.candidates import Candidate, Collect, E
from mpu_cli.commands.predict.cluster_prediction import ModelFiles, loaded
from mpu_cli.commands.predict.fitness import Fitness
from mpu_cli.errors import MpuError, shown
from mpu_cli.runtime.executor import Executor, reduced
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.grammar import Reading
from mpu_cli.svmlight.reader import no_instances
from mpu_cli.svmlight.sources import Source, files_of


@contextmanager
def collecting(on: OnCluster) -> Iterator[Collect]:
    """Give what adds the instances of files to evidence by a cluster, as `Candidate.collect` does here.

    All workers can reach the files, and the models or predictions. It counts files, and not instances. Its errors are
    ClusterError where the cluster fails, MpuError where one file has the predictions of several, and those of
    `Candidate.collect`.
    """
    with on.connected() as executor:
        yield partial(_collect, executor)


@dataclass(frozen=True)
class _Found(Generic[E]):
    """What was found in some files: evidence, whether a model fits them, and the number of instances."""

    evidence: E
    fitness: Fitness
    instances: int

    def __add__(self, other: "_Found[E]") -> "_Found[E]":
        return _Found(self.evidence + other.evidence, self.fitness + other.fitness, self.instances + other.instances)


def _collect(
    executor: Executor,
    candidate: Candidate,
    evidence: E,
    truth: Source,
    reading: Reading,
    run: Run,
    /,
    called: str = "PREDICTIONS",
    count: Callable[[int], None] = lambda _: None,
) -> E:
    files = list(map(absolute, files_of(truth)))
    done = [
        executor.submit(_of_part, evidence, candidate.name, predicted, file, state_of(file), reading, run.on_a_worker())
        for file, predicted in zip(files, _predictions(candidate, files), strict=True)
    ]
    executor.wait(done, lambda: count(1))
    found: _Found[E] = executor.gather([reduced(executor, add, done)])[0]
    if not found.instances:
        raise no_instances(truth)
    candidate.warn(found.fitness)
    return found.evidence


def _predictions(candidate: Candidate, files: list[str]) -> list[str] | list[ModelFiles]:
    """Return what the predictions of each file come from."""
    if candidate.model is not None:
        return [ModelFiles.of(Path(candidate.name))] * len(files)
    found = list(map(absolute, files_of(candidate.source)))
    if len(found) != len(files):
        raise MpuError(
            f"{shown(candidate.name)}: is no directory with predictions of {len(files)} files; with --cluster, give "
            "the one that `mpu predict` has written of them, or a model"
        )
    return found


def _of_part(
    begun: E, name: str, predicted: str | ModelFiles, truth: str, state: State | None, reading: Reading, run: Run
) -> _Found[E]:
    refuse_other(truth, state)
    model = loaded(predicted) if isinstance(predicted, ModelFiles) else None
    candidate = Candidate(name, model, "" if isinstance(predicted, ModelFiles) else predicted)
    evidence = deepcopy(begun)  # which other units may be given too
    sizes: list[int] = []
    fitness = candidate.collect_part(evidence, truth, reading, run, sizes.append)
    return _Found(evidence, fitness, sum(sizes))
