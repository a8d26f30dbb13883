import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.implications import Implications

IDS = np.array([1, 3, 7, 9])
LABELS = csr_array(np.array([[0, 0, 1, 0], [1, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]], bool))


def test_broader_labels_are_implied_through_labels_that_do_not_occur():
    rules = Implications([(7, 100), (100, 3), (3, 1)])
    assert rules.broader(7) == {100, 3, 1}
    implied = rules.implied(LABELS, IDS, IDS)
    assert implied.toarray().tolist() == [
        [True, True, False, False],
        [True, True, False, False],  # whether there or not
        [False] * 4,
        [False] * 4,
    ]


def test_labels_that_imply_each_other():
    rules = Implications([(7, 9), (9, 7), (9, 9)])
    assert rules.broader(7) == {9}
    assert rules.implied(LABELS, IDS, IDS).toarray()[:, [2, 3]].tolist() == [
        [False, True],
        [False, True],
        [True, False],
        [False, False],
    ]


def test_labels_that_no_instance_has_can_be_wanted():
    rules = Implications([(7, 100), (9, 100)])
    wanted = np.union1d(IDS, rules.labels())
    implied = rules.implied(LABELS, IDS, wanted).toarray()
    assert wanted[implied.any(axis=0)].tolist() == [100]
    assert implied[:, -1].tolist() == [True, True, True, False]


def test_nothing_implies_nothing():
    assert Implications([]).implied(LABELS, IDS, IDS).nnz == 0
