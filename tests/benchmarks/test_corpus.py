import numpy as np
import pytest

from benchmarks.corpus import CHUNK, Corpus


def test_documents_are_like_those_of_rcv1():
    """Labels are as many and as uneven; features as many, in vectors of unit length."""
    corpus = Corpus(features=20_000, labels=101, seed=5)
    (documents,) = corpus.chunks(CHUNK, part=0)
    labels = np.zeros((CHUNK, 101), bool)
    labels[np.arange(CHUNK)[:, None, None], corpus.tree.paths[documents.drawn]] = True
    assert labels.sum(axis=1).mean() == pytest.approx(3.2, abs=0.3)
    frequencies = labels.mean(axis=0)
    assert frequencies.max() == pytest.approx(0.47, abs=0.03)
    assert 30 <= np.count_nonzero(frequencies < 0.01) <= 70
    sizes = np.diff(documents.features.indptr)
    assert sizes.mean() == pytest.approx(76, abs=5)
    assert sizes.min() > 0
    assert documents.features.has_sorted_indices
    assert documents.features.data.min() > 0
    np.testing.assert_allclose(documents.features.multiply(documents.features).sum(axis=1), 1)
