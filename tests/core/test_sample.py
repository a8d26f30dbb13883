import numpy as np
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array, hstack

from mpu_cli.core.features import Features
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.sample import Instances, Sample
from mpu_cli.core.sgd import Settings
from mpu_cli.core.validation import out_of_fold
from mpu_cli.runtime.run import Run
from tests.core.simulated import as_features, as_labels


def numbered(n: int) -> tuple[Features, np.ndarray]:
    """Instances whose feature and whose labels tell their number."""
    return Features.of(as_features(np.arange(n)[:, None])), (np.arange(n)[:, None] >> np.arange(7)) % 2 == 1


def test_draws_instances_with_their_labels():
    features, labels = numbered(100)
    sample = Sample(Instances(features, as_labels(labels)), 30, 4)
    drawn = (sample.features.sparse.toarray() if sample.features.sparse.shape[1] else sample.features.dense).ravel()
    assert sample.share == 0.3
    assert len(np.unique(drawn)) == 30
    assert_array_equal(sample.labels.toarray(), labels[drawn.astype(int)])
    assert len(sample.fold_rows) == 4
    assert sorted(np.concatenate(sample.fold_rows)) == list(range(30))
    again, other = (
        Sample(Instances(features, as_labels(labels)), 30, 4, Run(seed=seed)).labels.toarray() for seed in (0, 1)
    )
    assert_array_equal(again, sample.labels.toarray())
    assert (other != again).any()


def test_features_that_neither_instances_nor_its_labels_have_change_nothing():
    """Such as those of the names of all labels that are not in it."""
    rng = np.random.default_rng(0)
    matrix, labels = csr_array((rng.random((200, 30)) < 0.1).astype(np.float32)), rng.random((200, 3)) < 0.3
    names = csr_array(np.eye(3, 30, dtype=np.float32))
    narrow = Sample(Instances(Features.of(matrix), as_labels(labels), label_features=names), 200, 4)
    pad = csr_array((200, 70), dtype=np.float32), csr_array((3, 70), dtype=np.float32)
    wide = Features.of(csr_array(hstack([matrix, pad[0]])))
    padded = csr_array(hstack([names, pad[1]]))
    sample = Sample(Instances(wide, as_labels(labels), label_features=padded), 200, 4)
    assert sample.features.width == 30
    settings, frequency = Settings(3.0, 1.0, 2, prior=5.0), LabelFrequency.of(0.7, (200, 3))
    one, other = (out_of_fold(each.task(frequency, settings), each.fold_rows) for each in (narrow, sample))
    assert_array_equal(one, other)
