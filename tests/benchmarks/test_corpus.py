import numpy as np
import pytest
from sklearn.metrics import f1_score
from sklearn.svm import LinearSVC

from benchmarks.corpus import CHUNK, Corpus, Zipf


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


@pytest.mark.parametrize("law", [Zipf(1, 1.1, 5.0), Zipf(50, 0.8, 2.0), Zipf(50, 1.3, 0.5)])
def test_zipf_ranks_have_their_probabilities(law):
    n = 200_000
    drawn = np.bincount(law.ranks((np.arange(n) + 0.5) / n), minlength=law.n) / n
    np.testing.assert_allclose(drawn, law.probabilities(), atol=2 / n)
    assert np.all(np.diff(drawn) <= 2 / n)


@pytest.mark.parametrize("uniform", [0.0, np.nextafter(1.0, 0.0)])
def test_zipf_ranks_are_in_range_at_both_ends(uniform):
    law = Zipf(7, 1.1, 3.0)
    assert law.ranks(np.array([uniform])) == (0 if uniform == 0 else 6)


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


def test_word_frequencies_are_those_that_idf_expects(corpus, documents):
    observed = np.bincount(documents.features.indices, minlength=corpus.features) / CHUNK
    common = observed > 0.02
    assert np.count_nonzero(common) > 100
    # Burstiness, two labels and lengths are left out of the expectation.
    ratios = np.exp(-corpus.idf[common]) / observed[common]
    assert np.median(ratios) == pytest.approx(1, abs=0.1)
    assert 0.5 < ratios.min() < ratios.max() < 2.5


def test_weights_are_log_tf_idf(corpus):
    documents = np.array([0, 0, 0, *range(1, CHUNK)])
    words = np.array([4, 2, 4, 7] + [1] * (CHUNK - 2))
    rows = corpus._weighted(documents, words)
    expected = np.array([corpus.idf[2], (1 + np.log(2)) * corpus.idf[4]])
    np.testing.assert_array_equal(rows[[0]].indices, [2, 4])
    np.testing.assert_allclose(rows[[0]].data, expected / np.linalg.norm(expected))
    np.testing.assert_allclose(rows[[1]].toarray()[0, 7], 1)


def test_labels_can_be_told_apart_but_not_always(documents, labels):
    top = labels.mean(axis=0).argmax()
    features = documents.features[:4000]
    features.indices = features.indices.astype(np.int32)
    features.indptr = features.indptr.astype(np.int32)
    model = LinearSVC().fit(features[:3000], labels[:3000, top])
    assert 0.8 < f1_score(labels[3000:4000, top], model.predict(features[3000:])) < 0.99


def test_a_document_does_not_depend_on_how_many_there_are(documents):
    first, second = Corpus(features=20_000, labels=101, seed=5).chunks(CHUNK + 10, part=0)
    (few,) = Corpus(features=20_000, labels=101, seed=5).chunks(10, part=0)
    np.testing.assert_array_equal(first.features.data, documents.features.data)
    np.testing.assert_array_equal(few.features.indices, documents.features[:10].indices)
    assert len(second.drawn) == second.features.shape[0] == 10


def test_parts_and_seeds_differ(corpus, documents):
    (test,) = corpus.chunks(10, part=1)
    (other,) = Corpus(features=20_000, labels=101, seed=6).chunks(10, part=0)
    assert test.features.indices[:20].tolist() != documents.features.indices[:20].tolist()
    assert other.features.indices[:20].tolist() != documents.features.indices[:20].tolist()


def test_the_smallest_corpus():
    (documents,) = Corpus(features=200, labels=1).chunks(50, part=0)
    assert documents.drawn.max() == 0
    assert documents.features.shape == (50, 200)
    assert np.isfinite(documents.features.data).all()
