"""Document frequencies of terms: the first of two passes over texts that need not fit in memory."""

from collections import Counter
from collections.abc import Iterable
from itertools import islice

from mpu_cli.text.analyzer import Analyzer

# Terms that are counted at a time, of about 130 bytes each, and their characters.
MOST_TERMS, MOST_CHARACTERS = 6_000_000, 1 << 29
_PIECE = 1 << 16  # terms of long texts


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
