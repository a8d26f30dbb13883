from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from benchmarks.rehearsal import Rehearsal
from benchmarks.scaling import levels
from benchmarks.scaling_groups import GroupSimulation, PickedCells, simulated
from benchmarks.simulation import FLOAT, Costs, DenseModel, Simulation, Unit
from mpu_cli.cluster.dask_executor import size_of
from mpu_cli.core import negative_sampling, parts
from mpu_cli.core.options import FEW_SHARDS, Options
from mpu_cli.core.train.algorithm import train_on_parts
from mpu_cli.core.train.mixing import rounds_of
from mpu_cli.runtime.parallel import run_unit
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.dataset import Dataset
from tests.core.train.test_distributed import in_parts
from tests.core.train.test_many_labels import problem

INSTANCES, FEATURES, LABELS = 1000, 50, 10
COSTS = Costs(learn=1e-4, predict=1e-5, add=1 / 2**16)
MODEL = FLOAT * (FEATURES + 1) * LABELS


def first_level(n_parts: int, workers: int, shards: int):
    return next(iter(levels(COSTS, n_parts, INSTANCES, FEATURES, LABELS, workers, shards)))


def test_one_worker_moves_nothing_and_takes_as_long_as_all_units_together():
    outcome = first_level(n_parts=4, workers=1, shards=2).run(bandwidth=1.0)
    halves = 4 * INSTANCES * LABELS * COSTS.learn
    means = (2 * (2 + 1) + 3) * MODEL * COSTS.add  # of each half: two scaled and one sum; the same once for both
    assert outcome.moved == 0
    assert outcome.seconds == pytest.approx(halves + means + 4 * INSTANCES * LABELS * COSTS.predict)


def test_a_model_is_sent_once_to_each_worker_that_needs_it():
    # One shard, two parts on two workers: each half goes from the first to the second, where both halves are then. The
    # mean is made there. The first needs both to predict.
    assert first_level(n_parts=2, workers=2, shards=1).run(bandwidth=1e9).moved == 4 * MODEL


def test_a_slow_network_takes_longer_and_moves_the_same():
    fast, slow = (first_level(8, 4, 4).run(bandwidth) for bandwidth in (float("inf"), 1000.0))
    assert slow.seconds > fast.seconds
    assert slow.moved == fast.moved > 0


def test_more_rounds_move_more():
    assert rounds_of(16) > rounds_of(4)
    assert first_level(16, 16, 16).run(1e9).moved > first_level(16, 16, 4).run(1e9).moved


def test_workers_share_the_work():
    one, four = (first_level(8, workers, 4).run(float("inf")).seconds for workers in (1, 4))
    assert one / 4 <= four < one / 3


def simulation_of(*units: Unit) -> Simulation:
    return Simulation(COSTS, INSTANCES, FEATURES, threads=2, units=list(units))


def test_a_worker_has_what_it_made_and_received_until_it_was_last_needed():
    part = Unit(0, bytes=1000)
    first = Unit(0, seconds=1, bytes=70, inputs=[part])
    second = Unit(1, seconds=1, bytes=500, inputs=[first])
    third = Unit(1, seconds=1, bytes=40, inputs=[second])
    fourth = Unit(1, seconds=1, bytes=3, inputs=[third])
    simulation = simulation_of(first, second, third, fourth)
    assert simulation.run(float("inf")).memory == 1070  # the part, and what was made of it
    part.bytes = 0
    assert simulation.run(float("inf")).memory == 570  # the first, and the second that was made of it
    second.bytes = 5
    assert simulation.run(float("inf")).memory == 75


def test_what_is_submitted_after_waiting_begins_when_that_is_done():
    one, other = (Unit(worker, seconds=1 + worker, inputs=[Unit(worker)]) for worker in range(2))
    simulation = simulation_of(one, other)
    simulation.wait([other])
    late = simulation.submit(parts.scaled, Unit(0, value=DenseModel(FEATURES, LABELS)), 0.5)
    assert simulation.run(float("inf")).seconds == 2 + late.seconds > 2


def test_what_the_client_gathers_is_sent_to_it():
    simulation = simulation_of(Unit(0, seconds=1, bytes=30, inputs=[Unit(0)]))
    simulation.gather(simulation.units[:1])
    assert simulation.run(10.0).moved == 30
    assert simulation.run(10.0).seconds == 4


OPTIONS = Options(c=1.0, cost=100.0, eta0=2.0, epochs=1, folds=2, sample=500, levels=2)


@pytest.fixture(autouse=True)
def few_instances_are_enough(monkeypatch):
    monkeypatch.setattr(negative_sampling, "_FEWEST_INSTANCES", 100)


@pytest.fixture(scope="module")
def drawn():
    matrix, annotated, _ = problem(n=3000)
    return matrix, csr_array(annotated[:, np.unique(annotated.indices)])


@pytest.fixture(scope="module")
def rehearsal(drawn):
    matrix, annotated = drawn
    return Rehearsal.of(Dataset(annotated, matrix), 500, OPTIONS)


class Real(GroupSimulation):
    """Really runs each unit, so that sizes are as they are."""

    def estimate(self, function, arguments, inputs):
        def value(argument):
            if isinstance(argument, list):
                return [value(one) for one in argument]
            return argument.value if isinstance(argument, Unit) else argument

        found = run_unit(function, *map(value, arguments))
        return 0.0, size_of(found), found


@pytest.mark.slow  # the rehearsal
@pytest.mark.parametrize("workers", [2, 3])
def test_as_much_is_moved_as_where_all_units_are_run(drawn, rehearsal, workers):
    real = Real(rehearsal, 6, workers)
    instances = in_parts(*drawn, 6)
    placed = real.placed(6, FEW_SHARDS)
    for unit, part in zip(placed, instances.parts, strict=True):
        unit.value, unit.bytes = part, size_of(part)
    train_on_parts(replace(instances, executor=real, parts=placed), OPTIONS, Run(), FEW_SHARDS)
    simulation = simulated(rehearsal, 6, workers)
    assert len(simulation.units) == pytest.approx(len(real.units), rel=0.05)
    assert simulation.run(1e9).moved == pytest.approx(real.run(1e9).moved, rel=0.25)


@pytest.mark.slow  # the rehearsal
def test_more_instances_move_more_and_take_longer(rehearsal):
    few, many = (simulated(rehearsal, n_parts, 2).run(1e9) for n_parts in (6, 24))
    assert many.moved > 2 * few.moved
    assert many.seconds > 2 * few.seconds


@pytest.mark.slow  # the rehearsal
def test_groups_are_learned_by_all_workers(rehearsal):
    simulation = simulated(rehearsal, 6, 3)
    learning = [unit for unit in simulation.units if any(isinstance(one.value, PickedCells) for one in unit.inputs)]
    assert {unit.worker for unit in learning} == {0, 1, 2}
    assert sum(unit.seconds for unit in learning) > 0
