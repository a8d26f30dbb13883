import numpy as np
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from mpu_cli.core.calibration import BinnedCells, HeldOut
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.predictions import SourceModels, strata_of

POSITIVES = csr_array(np.array([[1, 0, 1], [0, 0, 1], [1, 1, 0], [0, 0, 1]], bool))
FOLDS = [np.array([1, 2]), np.array([0, 3])]
SOURCE_MODELS = SourceModels.of_folds(FOLDS, FOLDS[::-1], POSITIVES)


def test_labels_are_in_strata_by_their_annotations():
    assert strata_of(np.array([0, 1, 2, 4, 5, 19, 20, 10**6])).tolist() == [0, 1, 2, 2, 3, 3, 4, 4]


def test_cells_are_counted_in_the_stratum_of_their_model():
    predictions = np.linspace(0.1, 0.9, 12, dtype=np.float32).reshape(4, 3)
    given = POSITIVES, LabelFrequency.of(0.5, (4, 3))
    whole, kept = (
        BinnedCells.of(HeldOut(predictions, *given)),
        BinnedCells.of(HeldOut(predictions, *given, made_by=SOURCE_MODELS)),
    )
    assert kept.cells.sum(axis=1).tolist() == [2, 8, 2, 0, 0]
    assert kept.true.sum(axis=1).tolist() == [2, 8, 2, 0, 0]
    assert kept.annotations.tolist() == [1, 4, 1, 0, 0]
    for name in ("cells", "true", "annotations"):
        assert_array_equal(getattr(kept, name).sum(axis=0), getattr(whole, name)[0])
    sparse = BinnedCells.of(
        HeldOut(csr_array(np.where(predictions > 0.5, predictions, 0)), *given, made_by=SOURCE_MODELS)
    )
    assert_array_equal(sparse.cells.sum(axis=1), kept.cells.sum(axis=1))
    assert_array_equal(sparse.cells[:, 1:].sum(), (predictions > 0.5).sum())


def test_labels_that_their_model_has_never_seen_are_predicted_nowhere():
    predictions = np.full((4, 3), 0.5, np.float32)
    seen = np.ones((4, 3), bool)
    seen[FOLDS[0], 1] = False
    for given in (predictions, csr_array(predictions)):
        held_out = HeldOut(given, POSITIVES, LabelFrequency.of(0.5, (4, 3)), made_by=SOURCE_MODELS)
        found = held_out.without_unseen().probabilities
        assert_array_equal(found if given is predictions else found.toarray(), np.where(seen, predictions, 0))
