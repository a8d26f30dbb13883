import numpy as np
from numpy.testing import assert_array_equal

from mpu_cli.core.features import Features
from mpu_cli.core.sample import Instances, Sample
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
