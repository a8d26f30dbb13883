"""Random documents in the shape of RCV1-v2: Zipf words, a tree of topics, log-tf-idf vectors of unit length.

A document draws one topic, sometimes a second; its labels are those and their ancestors. Each of its words comes from
the background, from one of its labels, or astray, from any topic; how many are about its labels differs from document
to document. So labels can be told apart, but not always.

RCV1 has 804,414 documents, 47,236 features, about 76 of them in a document, and 101 labels, about 3.2 on a document and
47 % of the documents with the most frequent one (Lewis et al., JMLR 5, 2004).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from benchmarks import topics

CHUNK = 8192  # documents that are made together

_TOPICS_AT_ONCE = 1024  # whose words are drawn together: q topics with all of their words as float64 take much memory

_SECOND_TOPIC = 0.25  # share of the documents that draw a second topic
_LENGTH = 76, 0.55  # words a document: median, and deviation of the logarithm
_SHORTEST, _LONGEST = 10, 1000
_TOPICAL = 6.0, 3.0  # Beta distribution of the share of a document's words that come from its labels
_ASTRAY = 0.1  # share of the other words that come from any topic
_OWN_WORDS = 1 / 60  # share of the vocabulary that a topic's words are drawn from
_FEWEST_OWN_WORDS = 50


@dataclass(frozen=True)
class Zipf:
    """Ranks from 0 to n - 1 with probability about 1 / (rank + offset) ** exponent, drawn by a closed form.

    A rank's probability is the mass of the continuous law from the rank to the next. The exponent must not be 1.
    """

    n: int
    exponent: float
    offset: float

    def ranks(self, uniform: np.ndarray) -> np.ndarray:
        """Turn numbers that are uniform in [0, 1) into ranks, int64."""
        power = 1 - self.exponent
        low, high = self.offset**power, (self.n + self.offset) ** power
        ranks = (low + uniform * (high - low)) ** (1 / power) - self.offset
        return np.clip(ranks.astype(np.int64), 0, self.n - 1)  # rounding may step over either end

    def probabilities(self) -> np.ndarray:
        """Probability of each rank, shape (n,)."""
        masses = np.diff((np.arange(self.n + 1) + self.offset) ** (1 - self.exponent))
        return masses / masses.sum()


@dataclass(frozen=True)
class Documents:
    """A few documents.

    Attributes
    ----------
    drawn : ndarray, shape (n, 2), int64
        The two topics that a document drew, the same twice for most.
    features : csr_array, shape (n, D), float64
        Rows of unit length, columns ascending.
    """

    drawn: np.ndarray
    features: csr_array


@dataclass(frozen=True)
class Corpus:
    """The distribution that documents are drawn from; the same arguments give the same documents.

    Attributes
    ----------
    features, labels : int
        Number of words in the vocabulary and of topics.
    seed : int
        Seed of the tree, the vocabulary and the documents.
    """

    features: int = 47_236
    labels: int = 101
    seed: int = 0

    @cached_property
    def tree(self) -> topics.TopicTree:
        """The tree of topics."""
        return topics.grow(self.labels, np.random.default_rng([self.seed, 0]))

    @cached_property
    def background(self) -> Zipf:
        """The law of words that have nothing to do with topics."""
        return Zipf(self.features, 1.1, 40.0)

    @cached_property
    def topical(self) -> Zipf:
        """The law of a topic's own words."""
        return Zipf(max(round(self.features * _OWN_WORDS), _FEWEST_OWN_WORDS), 1.2, 3.0)

    @cached_property
    def words(self) -> np.ndarray:
        """Word of each rank of the background, shape (D,): ids say nothing about frequency."""
        return np.random.default_rng([self.seed, 1]).permutation(self.features).astype(np.int32)

    @cached_property
    def topic_words(self) -> np.ndarray:
        """Word of each rank of each topic, shape (q, V): mostly common words, so that topics share some."""
        rng = np.random.default_rng([self.seed, 2])
        words = np.empty((self.labels, self.topical.n), np.int32)
        for start in range(0, self.labels, _TOPICS_AT_ONCE):
            block = words[start : start + _TOPICS_AT_ONCE]
            block[:] = self.words[(self.features * rng.random(block.shape) ** 2).astype(np.int64)]
        return words

    @cached_property
    def idf(self) -> np.ndarray:
        """Inverse document frequency, shape (D,): -log of the share of documents that are expected to have the word."""
        tree = self.tree
        depths = tree.depths[:, None]
        on_path = np.arange(topics.MAX_DEPTH) < depths
        from_labels = np.bincount(
            tree.paths[on_path], np.repeat(tree.shares / tree.depths, tree.depths), minlength=self.labels
        )
        about = _TOPICAL[0] / sum(_TOPICAL)
        from_topics = about * from_labels + (1 - about) * _ASTRAY / self.labels
        probabilities = self.topical.probabilities()
        frequencies = np.zeros(self.features)
        for start in range(0, self.labels, _TOPICS_AT_ONCE):
            block = slice(start, start + _TOPICS_AT_ONCE)
            np.add.at(frequencies, self.topic_words[block], np.outer(from_topics[block], probabilities))
        frequencies[self.words] += (1 - about) * (1 - _ASTRAY) * self.background.probabilities()
        return -np.log(-np.expm1(-_LENGTH[0] * frequencies))

    def chunks(self, instances: int, part: int) -> Iterator[Documents]:
        """Draw the first `instances` documents of a part, chunk by chunk.

        Document i of a part is the same however many are asked for.

        Parameters
        ----------
        instances : int
        part : int
            0 for training, 1 for test: different documents from the same distribution.
        """
        for chunk, start in enumerate(range(0, instances, CHUNK)):
            documents = self._draw(np.random.default_rng([self.seed, 3, part, chunk]))
            rows = min(CHUNK, instances - start)
            yield Documents(documents.drawn[:rows], documents.features[:rows])

    def _draw(self, rng: np.random.Generator) -> Documents:
        drawn = rng.choice(self.labels, size=(CHUNK, 2), p=self.tree.shares)
        one_topic = rng.random(CHUNK) >= _SECOND_TOPIC
        drawn[one_topic, 1] = drawn[one_topic, 0]

        lengths = np.clip(_LENGTH[0] * rng.lognormal(0, _LENGTH[1], CHUNK), _SHORTEST, _LONGEST).astype(np.int64)
        documents = np.repeat(np.arange(CHUNK), lengths)
        words = self._draw_words(rng, drawn, documents)
        return Documents(drawn, self._weighted(documents, words))

    def _draw_words(self, rng: np.random.Generator, drawn: np.ndarray, documents: np.ndarray) -> np.ndarray:
        """Draw a word for each entry of `documents`."""
        about = rng.beta(*_TOPICAL, len(drawn))[documents]
        source = rng.random(len(documents))
        own = np.flatnonzero(source < about)
        astray = np.flatnonzero(source >= 1 - (1 - about) * _ASTRAY)
        background = np.flatnonzero((source >= about) & (source < 1 - (1 - about) * _ASTRAY))

        topic = drawn[documents[own], rng.integers(2, size=len(own))]
        level = (rng.random(len(own)) * self.tree.depths[topic]).astype(np.int64)
        labels = np.concatenate([self.tree.paths[topic, level], rng.integers(self.labels, size=len(astray))])

        words = np.empty(len(documents), np.int32)
        words[np.concatenate([own, astray])] = self.topic_words[labels, self.topical.ranks(rng.random(len(labels)))]
        words[background] = self.words[self.background.ranks(rng.random(len(background)))]
        return words

    def _weighted(self, documents: np.ndarray, words: np.ndarray) -> csr_array:
        """Count the words of each document and weigh them: (1 + log tf) * idf, rows of unit length."""
        keys = np.sort(documents * self.features + words)
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        counts = np.diff(first, append=len(keys))
        rows, columns = np.divmod(keys[first], self.features)
        values = (1 + np.log(counts)) * self.idf[columns]
        indptr = np.searchsorted(rows, np.arange(CHUNK + 1))
        values /= np.sqrt(np.add.reduceat(values**2, indptr[:-1]))[rows]  # no document is empty
        return csr_array((values, columns, indptr), shape=(CHUNK, self.features))
