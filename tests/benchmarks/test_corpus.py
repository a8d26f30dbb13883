import numpy as np
import pytest

from benchmarks.corpus import CHUNK, Corpus


@pytest.fixture(scope="module")
def corpus():
    return Corpus(features=20_000, labels=101, seed=5)


@pytest.fixture(scope="module")
def documents(corpus):
    (chunk,) = corpus.chunks(CHUNK, part=0)
    return chunk


@pytest.fixture(scope="module")
def labels(corpus, documents):
    """Indicator matrix of the documents' labels."""
    indicator = np.zeros((CHUNK, 101), bool)
    rows = np.arange(CHUNK)[:, None, None]
    indicator[rows, corpus.tree.paths[documents.drawn]] = True
    return indicator


def test_labels_are_as_many_and_as_uneven_as_those_of_rcv1(labels):
    assert labels.sum(axis=1).mean() == pytest.approx(3.2, abs=0.3)
    frequencies = labels.mean(axis=0)
    assert frequencies.max() == pytest.approx(0.47, abs=0.03)
    assert 30 <= np.count_nonzero(frequencies < 0.01) <= 70


def test_documents_are_as_long_as_those_of_rcv1_and_have_unit_length(documents):
    sizes = np.diff(documents.features.indptr)
    assert sizes.mean() == pytest.approx(76, abs=5)
    assert sizes.min() > 0
    assert documents.features.has_sorted_indices
    assert documents.features.data.min() > 0
    np.testing.assert_allclose(documents.features.multiply(documents.features).sum(axis=1), 1)
