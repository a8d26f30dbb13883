"""In how many texts each term occurs: the first of two passes over texts that need not fit in memory."""

from collections import Counter
from collections.abc import Iterable

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer

from mpu_cli.text.analysis import Analyzer

# Terms that are counted at a time. Each takes about 130 bytes.
MOST_TERMS = 6_000_000


class TermCounts:
    """Document frequencies of terms.

    Parameters
    ----------
    analyzer : callable
        Gives the terms of a text.
    most_terms : int
        Where more different terms are met, the rarest are forgotten. They are counted from 0 where they come again.

    Attributes
    ----------
    texts : int
        Texts counted.
    of : Counter
        In how many texts each term occurs.
    forgotten : int
        How many terms were forgotten.
    """

    def __init__(self, analyzer: Analyzer, most_terms: int = MOST_TERMS) -> None:
        self._analyzer = analyzer
        self._most_terms = most_terms
        self.texts = 0
        self.of: Counter[str] = Counter()
        self.forgotten = 0

    def add(self, texts: Iterable[str]) -> None:
        """Count some texts."""
        for text in texts:
            self.of.update(set(self._analyzer(text)))
            self.texts += 1
            if len(self.of) > self._most_terms:
                self._forget()

    def _forget(self) -> None:
        """Forget the rarest terms, so that half of the room is free."""
        rarest = 0
        before = len(self.of)
        while len(self.of) > self._most_terms // 2:
            rarest += 1
            self.of = Counter({term: count for term, count in self.of.items() if count > rarest})
        self.forgotten += before - len(self.of)

    def vocabulary(self, min_df: int, max_features: int | None, kept: set[str]) -> list[str]:
        """Return the terms that become features, in alphabetical order.

        Parameters
        ----------
        min_df : int
            In how many texts they occur at least.
        max_features : int, optional
            How many there are at most; those that occur in more texts come first, then the alphabet.
        kept : set of str
            Terms that become features in any case, and do not count.
        """
        frequent = [term for term, count in self.of.items() if count >= min_df and term not in kept]
        if max_features is not None and len(frequent) > max_features:
            frequent = sorted(frequent, key=lambda term: (-self.of[term], term))[:max_features]
        return sorted([*frequent, *kept])


class HashCounts:
    """Document frequencies of the hashes of terms, in as much memory for many texts as for few.

    Parameters
    ----------
    hasher : HashingVectorizer
        Gives counts.

    Attributes
    ----------
    texts : int
    of : ndarray of int, shape (D,)
    """

    def __init__(self, hasher: HashingVectorizer) -> None:
        self._hasher = hasher
        self.texts = 0
        self.of = np.zeros(hasher.n_features, np.int64)

    def add(self, texts: Iterable[str]) -> None:
        """Count some texts."""
        counts = self._hasher.transform(texts)
        self.texts += counts.shape[0]
        np.add.at(self.of, counts.indices, 1)
