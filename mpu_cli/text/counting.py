"""Document frequencies of terms: the first of two passes over texts that need not fit in memory."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np
from scipy.sparse import csr_array, vstack
from sklearn.feature_extraction import FeatureHasher

from mpu_cli.text.analyzer import Analyzer, batches

# Terms that are counted at a time, of about 130 bytes each, and their characters.
MOST_TERMS, MOST_CHARACTERS = 6_000_000, 1 << 29
_PIECE = 1 << 16  # terms of long texts
_LEAST_MERGED = 1 << 20


class TermCounts:
    """Document frequencies of terms.

    `analyzer`: returns the terms of a text.
    `most_terms`, `most_characters`: if there are more different terms, or longer ones, the rarest are dropped. They are
    counted from 0 if they occur again.
    `texts`: Texts counted.
    `of`: in how many texts each term occurs.
    `forgotten`: number of dropped terms.
    """

    def __init__(
        self, analyzer: Analyzer, most_terms: int = MOST_TERMS, most_characters: int = MOST_CHARACTERS
    ) -> None:
        self._analyzer = analyzer
        self._most_terms = most_terms
        self._most_characters = most_characters
        self._characters = 0  # at most, of all terms
        self.texts = 0
        self.of: Counter[str] = Counter()
        self.forgotten = 0

    def add(self, texts: Iterable[str]) -> None:
        """Count the terms of more texts."""
        for text in texts:
            terms = iter(self._analyzer(text))
            counted: set[str] = set()
            while piece := set(islice(terms, _PIECE)):
                piece -= counted
                counted |= piece
                self.of.update(piece)
                self._characters += sum(map(len, piece))
                if len(self.of) > self._most_terms or self._characters > self._most_characters:
                    self._forget()
                    counted &= self.of.keys()
            self.texts += 1

    def _forget(self) -> None:
        """Drop the rarest terms, so that half of the room is free; nothing if the room suffices."""
        before = len(self.of)
        most = self._most_terms // 2 if before > self._most_terms else before
        rarest = 0
        while self._size() > self._most_characters // 2 or len(self.of) > most:
            rarest += 1
            self.of = Counter({term: count for term, count in self.of.items() if count > rarest})
        self.forgotten += before - len(self.of)

    def _size(self) -> int:
        self._characters = sum(map(len, self.of))
        return self._characters

    def vocabulary(self, min_df: int, max_features: int | None, kept: set[str]) -> list[str]:
        """Return the terms that become features, in alphabetical order.

        They occur in at least `min_df` texts; of more than `max_features` those that occur in most texts are taken,
        ties in alphabetical order. Those in `kept` are always features, and do not count.
        """
        frequent = [term for term, count in self.of.items() if count >= min_df and term not in kept]
        if max_features is not None and len(frequent) > max_features:
            frequent = sorted(frequent, key=lambda term: (-self.of[term], term))[:max_features]
        return sorted([*frequent, *kept])


class Hashes:
    """Terms numbered by hashes with a number of bits; the hashes are the columns of matrices."""

    def __init__(self, analyzer: Analyzer, bits: int) -> None:
        self._analyzer = analyzer
        self._hasher = FeatureHasher(2**bits, input_type="string", alternate_sign=False, dtype=np.float32)
        self.width = 2**bits

    def transform(self, texts: Iterable[str]) -> csr_array:
        """Count the terms of texts: float32, shape (n, D)."""
        parts = [self._counted(batch) for batch in batches(texts)] or [self._counted([])]
        return csr_array(vstack(parts)) if len(parts) > 1 else parts[0]

    def _counted(self, texts: list[str]) -> csr_array:
        total = csr_array((len(texts), self.width), dtype=np.float32)
        for rows, pieces in self._pieces(texts):
            part = self._hasher.transform(pieces)
            total += csr_array((part.data, (np.repeat(rows, np.diff(part.indptr)), part.indices)), shape=total.shape)
        return total

    def _pieces(self, texts: list[str]) -> Iterator[tuple[list[int], list[list[str]]]]:
        """Yield pieces of texts, a few megabytes of terms at a time, and the row of each piece."""
        rows: list[int] = []
        pieces: list[list[str]] = []
        room = _PIECE
        for row, text in enumerate(texts):
            terms = iter(self._analyzer(text))
            while piece := list(islice(terms, room)):
                rows.append(row)
                pieces.append(piece)
                room -= len(piece)
                if not room:
                    yield rows, pieces
                    rows, pieces, room = [], [], _PIECE
        if pieces:
            yield rows, pieces


class HashCounts:
    """Document frequencies of the hashes of terms, in memory that grows with the number of different ones."""

    def __init__(self, hashes: Hashes) -> None:
        self._hashes = hashes
        self.texts = 0
        self._counts = csr_array((1, hashes.width), dtype=np.int64)
        self._new: list[np.ndarray] = []
        self._entries = 0

    def add(self, texts: Iterable[str]) -> None:
        """Count the terms of more texts."""
        for batch in batches(texts):
            counts = self._hashes.transform(batch)
            self.texts += len(batch)
            self._new.append(counts.indices)
            self._entries += counts.nnz
            if self._entries > max(_LEAST_MERGED, self._counts.nnz):  # so that merging takes linear time in all
                self._merge()

    def _merge(self) -> None:
        columns, counts = np.unique(np.concatenate(self._new), return_counts=True)
        self._counts += csr_array((counts, columns, [0, len(columns)]), shape=self._counts.shape)
        self._new, self._entries = [], 0

    def of(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the columns that occur, ascending, and in how many texts each does."""
        if self._new:
            self._merge()
        return self._counts.indices.astype(np.int32), self._counts.data
