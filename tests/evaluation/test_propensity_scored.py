import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_array

from mpu_cli.evaluation.incomplete import PropensityScoredMetrics
from tests.evaluation.orders import mean_over_rankings
from tests.evaluation.test_ranking import KS, score_lists

LABELS = 5
sizes = st.integers(1, 6)


def examples(size: int):
    """Truth, scores with ties, which of them are listed, and propensities."""
    shape = (size, LABELS)
    scores = hnp.arrays(np.float32, shape, elements=st.sampled_from([0, 0.25, 0.5, 0.75]))
    propensities = hnp.arrays(float, LABELS, elements=st.sampled_from([0.1, 0.25, 0.5, 1]))
    return st.tuples(hnp.arrays(bool, shape), scores, hnp.arrays(bool, shape), propensities)


def measured(truth, lists, propensities, *cuts) -> dict[str, float]:
    """Measure in chunks that end at `cuts`."""
    metrics = PropensityScoredMetrics(KS)
    for start, stop in zip([0, *cuts], [*cuts, len(truth)], strict=True):
        metrics.add(csr_array(truth[start:stop] / propensities), lists[start:stop])
    return metrics.results()


def naive(truth, scores, listed, propensities) -> dict[str, float]:
    """The definitions, instance by instance and order by order."""
    results = {}
    for k in KS:
        sums = np.zeros((2, 2))  # gained and possible, of precision and of nDCG
        for row, true in enumerate(truth):
            labels = set(np.flatnonzero(true).tolist())
            normalizer = sum(1 / math.log2(rank + 1) for rank in range(1, min(k, len(labels)) + 1))
            lists = {j: float(scores[row, j]) for j in range(LABELS) if listed[row, j]}
            ideal = {j: 1 / propensities[j] for j in labels}
            for i, ranks in enumerate((lists, ideal)):
                gains = mean_over_rankings(
                    ranks,
                    lambda order, k=k, labels=labels: np.sum(
                        [
                            (1 / propensities[j], 1 / propensities[j] / math.log2(rank + 1))
                            for rank, j in enumerate(order[:k], 1)
                            if j in labels
                        ]
                        or [(0, 0)],
                        axis=0,
                    ),
                )
                sums[0, i] += gains[0]
                sums[1, i] += gains[1] / normalizer if labels else 0
        for name, (gained, possible) in zip(("psp", "psndcg"), sums, strict=True):
            results[f"{name}_at_{k}"] = gained / possible if possible else 0
    return results


@given(sizes.flatmap(examples), st.data())
def test_by_their_definition_ties_and_unlisted_labels_included(example, data):
    truth, scores, listed, propensities = example
    cuts = sorted(data.draw(st.lists(st.integers(0, len(truth)), max_size=3)))
    found = measured(truth, score_lists(scores, listed), propensities, *cuts)
    assert found == pytest.approx(naive(*example), rel=0, abs=1e-12)
