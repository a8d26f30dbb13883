import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from mpu_cli.errors import MpuError
from mpu_cli.evaluation.compare import labels_from_scores, lockstep
from mpu_cli.evaluation.metrics import Propensities
from mpu_cli.svmlight.reader import Dataset
from tests.evaluation.comparing import compare
from tests.memory import peak_below


def chunks(numbers, cuts):
    """Instances that have their number as the only label, in chunks that end at `cuts`."""
    for start, stop in zip([0, *cuts], [*cuts, len(numbers)], strict=True):
        part = numbers[start:stop]
        if part:
            labels = csr_array((np.ones(len(part), bool), part, range(len(part) + 1)), shape=(len(part), max(part) + 1))
            yield Dataset(labels, csr_array((len(part), 1), dtype=np.float32))


@given(st.integers(1, 20), st.integers(1, 20), st.data())
def test_lockstep_counts_both_to_the_end(n_left, n_right, data):
    cuts = [data.draw(st.lists(st.integers(0, n), max_size=4).map(sorted)) for n in (n_left, n_right)]
    pairs = lockstep(*(chunks(list(range(n)), cut) for n, cut in zip((n_left, n_right), cuts, strict=True)), "tags.txt")
    if n_left == n_right:
        assert sum(len(left) for left, _ in pairs) == n_left
    else:
        with pytest.raises(MpuError, match=f"TRUTH has {n_left} instances and tags.txt has {n_right};"):
            list(pairs)


def test_scores_at_the_threshold_are_predicted():
    # 0.7 is not a float32: rounded, it must still reach a threshold written 0.7.
    scores = csr_array((np.array([0.7, 0.69, 0.0], np.float32), [1, 4, 5], [0, 1, 1, 3]), shape=(3, 6))
    labels = labels_from_scores(scores, 0.7)
    assert (labels.indices.tolist(), labels.indptr.tolist()) == ([1], [0, 1, 1, 1])
    assert (scores.nnz, labels_from_scores(scores, 0.0).nnz) == (3, 3)


def test_memory_does_not_grow_with_instances_times_labels(tmp_path):
    """As a matrix, these scores would be 800 MB; the labels are read, ranked and weighed in a few."""
    rng = np.random.default_rng(0)
    n, q = 2_000, 100_000
    with (tmp_path / "truth").open("w") as truth, (tmp_path / "scores").open("w") as scores:
        for row in rng.integers(q, size=(n, 20)):
            labels = np.unique(row).tolist()
            truth.write(",".join(map(str, labels[:3])) + " 1:1\n")
            scores.write(" ".join(f"{label}:0.5" for label in labels) + "\n")
    weights = Propensities(np.arange(q), np.full(q, 0.5))
    with peak_below(100_000_000):
        results = compare(str(tmp_path / "truth"), str(tmp_path / "scores"), propensities=weights).results()
    assert results["psp_at_1"] == pytest.approx(3 / 20, abs=0.001)
