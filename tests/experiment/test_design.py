from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from mpu_cli.experiment.cell import Cell
from mpu_cli.svmlight.dataset import Dataset
from tests.experiment.small import DESIGN, dense, problem


def test_cells_are_all_combinations_and_every_method_has_run_before_the_next_fold():
    cells = DESIGN.cells()
    assert len(cells) == len(set(cells)) == 2 * 2 * 3
    assert [cell.fold for cell in cells] == [0] * 4 + [1] * 4 + [2] * 4


def test_test_folds_are_a_partition_with_complete_labels():
    data = problem()
    tests = [DESIGN.split(data, Cell("br", 0.5, fold, 60))[1] for fold in range(3)]
    assert sum(map(len, tests)) == 60
    assert sum(test.labels.nnz for test in tests) == data.labels.nnz
    rows = {tuple(row) for test in tests for row in dense(test.features).tolist()}
    assert rows == {tuple(row) for row in dense(data.features).tolist()}


def test_methods_learn_from_the_same_instances_with_the_same_labels():
    data = problem()
    for rate in (0.0, 0.5):
        cells = (Cell(method, rate, 1, 40) for method in ("br", "mpu"))
        (one, one_test, _), (other, other_test, _) = (DESIGN.split(data, cell) for cell in cells)
        for a, b in ((one, other), (one_test, other_test)):
            assert (dense(a.labels) == dense(b.labels)).all()
            assert (dense(a.features) == dense(b.features)).all()


def test_the_removed_labels_of_a_fold_are_nested_over_rates():
    kept = [dense(DESIGN.split(problem(), Cell("br", rate, 2, 60))[0].labels) for rate in (0, 0.2, 0.5)]
    assert kept[0].sum() > kept[1].sum() > kept[2].sum()
    assert (kept[2] <= kept[1]).all()


@pytest.mark.parametrize("change", [{"seed": 1}, {"folds": 4}])
def test_the_seed_and_the_folds_change_the_split(change):
    data = problem()
    cell = Cell("br", 0.0, 0, 60)
    one, other = (design.split(data, cell)[1] for design in (DESIGN, replace(DESIGN, **change)))
    assert dense(one.features).tolist() != dense(other.features).tolist()


def test_a_larger_draw_contains_a_smaller_one():
    data = problem()
    drawn = []
    for size in (20, 40):
        parts = DESIGN.split(data, Cell("br", 0.0, 0, size))[:2]
        drawn.append({tuple(row) for part in parts for row in dense(part.features).tolist()})
    assert [len(rows) for rows in drawn] == [20, 40]
    assert drawn[0] < drawn[1]


def test_equal_instances_are_in_one_fold():
    rng = np.random.default_rng(0)
    features = csr_array(np.tile(rng.random((100, 4)), (2, 1)).astype(np.float32))
    data = Dataset(csr_array(np.ones((200, 1), bool)), features)
    for fold in range(3):
        training, test, _ = DESIGN.split(data, Cell("br", 0.0, fold, 200))
        rows = ({tuple(row) for row in dense(of.features).tolist()} for of in (training, test))
        assert not set.intersection(*rows)
