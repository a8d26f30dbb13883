import pytest

from benchmarks.scaling import FLOAT, Costs, levels
from mpu_cli.core.mixing import rounds_of

COSTS = Costs(learn=1e-3, predict=1e-4, add=0.0625)
INSTANCES, FEATURES, LABELS = 1000, 50, 10
MODEL = FLOAT * (FEATURES + 1) * LABELS


def first_level(parts: int, workers: int, shards: int):
    return next(iter(levels(COSTS, parts, INSTANCES, FEATURES, LABELS, workers, shards)))


def test_one_worker_moves_nothing_and_takes_as_long_as_all_units_together():
    seconds, moved = first_level(parts=4, workers=1, shards=2).run(bandwidth=1.0)
    halves = 4 * INSTANCES * COSTS.learn
    means = (2 * (2 + 1) + 3) * COSTS.add  # of each half: two models scaled and one sum; the same once for both
    assert moved == 0
    assert seconds == pytest.approx(halves + means + 4 * INSTANCES * COSTS.predict)


def test_a_model_is_sent_once_to_each_worker_that_needs_it():
    # One shard, two parts on two workers: each half goes from the first to the second, where both halves are then. The
    # mean is made there. The first needs both to predict.
    _, moved = first_level(parts=2, workers=2, shards=1).run(bandwidth=1e9)
    assert moved == 4 * MODEL


def test_a_slow_network_takes_longer_and_moves_the_same():
    fast, slow = (first_level(8, 4, 4).run(bandwidth) for bandwidth in (float("inf"), 1000.0))
    assert slow[0] > fast[0]
    assert slow[1] == fast[1] > 0


def test_more_rounds_move_more():
    assert rounds_of(16) > rounds_of(4)
    assert first_level(16, 16, 16).run(1e9)[1] > first_level(16, 16, 4).run(1e9)[1]


def test_workers_share_the_work():
    one, four = (first_level(8, workers, 4).run(float("inf"))[0] for workers in (1, 4))
    assert one / 4 <= four < one / 3
