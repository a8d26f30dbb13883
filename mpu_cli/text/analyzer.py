"""The terms of a text, their document frequencies, and the options of a vectoriser: words, stems and n-grams.

Terms are the same as scikit-learn's, but are generated one by one: the n-grams of a long text may not fit in memory.
The stems are Snowball's.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from threading import Lock
from typing import Any, TypeVar

from mpu_cli.runtime.options import AUTO, Integer, Kind, Span, declared
from mpu_cli.text.languages import LANGUAGES, language_of

NO_STEMS = "none"
LINE, DASH = "line", "dash"
LONGEST_NGRAM = 10


class _Languages(Kind):
    """One or several languages, separated by commas."""

    metavar = "word"
    type = "str"

    def _checked(self, value: Any) -> str:
        given = value.split(",") if isinstance(value, str) else [value]
        if not isinstance(value, str) or len({*given}) < len(given) or not {*given} <= {*LANGUAGES}:
            raise self._refused(value, f"one or several of {', '.join(LANGUAGES)}, with commas between them")
        return value


@dataclass(frozen=True)
class TextOptions:
    """Options for turning texts into vectors, with the same names in `mpu vectorize` and `Vectorizer`."""

    analyzer: str = declared(
        Kind(words=("word", "char")), "word", "Words and n-grams of words, or n-grams of characters within words."
    )
    ngrams: tuple[int, int] | None = declared(
        Span(1, LONGEST_NGRAM, words=(AUTO,)),
        None,
        "Shortest and longest n-gram. auto: 1-2 for words, 3-5 for characters.",
    )
    stem: str | None = declared(
        _Languages(words=(AUTO, NO_STEMS)),
        None,
        "Stem words in this language, or these: english,german. auto: the languages of at least 5 % of the texts.",
    )
    weighting: str = declared(
        Kind(words=("log-tfidf", "tfidf", "tf", "binary")),
        "log-tfidf",
        "Weights of features. log-tfidf: tf-idf with 1 + log(tf).",
    )
    lead: str | int | None = declared(
        Integer(0, words=(AUTO, LINE, DASH)),
        None,
        "Beginning of a text whose words count more: its first line, the part before a dash, this many words, or 0. "
        "auto: as the texts suggest.",
    )
    min_df: int | None = declared(
        Integer(1, words=(AUTO,)),
        None,
        "Keep features in at least this many texts. auto: 1 to 3, by the number of texts.",
    )
    max_features: int | None = declared(Integer(1), None, "Keep at most this many features, those in most texts.")
    hashing: int | None = declared(
        Integer(8, 30), None, "Number features by a hash of this many bits, without a vocabulary."
    )

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of the stems; empty without stems."""
        return () if self.stem in (None, NO_STEMS) else tuple(str(self.stem).split(","))


_WORD = re.compile(r"(?u)\b\w\w+\b")  # scikit-learn's own
_KEPT_STEMS = 1 << 17
_LONGEST_STEMMED = 200  # for some words, Snowball's time is quadratic in the length
_TITLE_ENDS = {LINE: re.compile(r"\n"), DASH: re.compile(r"\s[-\u2013\u2014]\s")}
_LONGEST_TITLE, _FIRST_WORDS = 25, 10
_WITH_TITLE = 0.9  # share of the texts
_SHORT = 50  # words; in a short text, the beginning is no more informative than the rest
NGRAMS = {"word": (1, 2), "char": (3, 5)}

Analyzer = Callable[[str], Iterator[str]]


def analyzer_of(options: TextOptions) -> Analyzer:
    """Return the function that splits a text into its terms, with repetitions.

    Texts are normalised to Unicode's NFKC and to lower case. Words have at least two characters, and are stemmed if
    they have at most 200.

    `options`: its `stem` is `NO_STEMS`, or languages. With several, each text is stemmed in its own language, or in the
    first one if its language is unclear.
    """
    shortest, longest = options.ngrams or NGRAMS[options.analyzer]
    lengths = range(shortest, longest + 1)
    if options.analyzer == "char":
        return lambda text: _ngrams_of_characters(_folded(text).split(), lengths)
    stems = {language: _stemmer(language) for language in options.languages}
    first = next(iter(stems), "")

    def of_words(text: str) -> Iterator[str]:
        words = _WORD.findall(_folded(text))
        stem = stems.get(first if len(stems) < 2 else language_of(text) or first)
        words = words if stem is None else [stem(word) for word in words]
        return chain.from_iterable(
            map(" ".join, zip(*(islice(words, i, None) for i in range(n)), strict=False)) for n in lengths
        )

    return of_words


def lead_of(text: str, lead: str | int) -> str:
    """Return the beginning of a text: its title, if one ends as `lead` specifies, or else its first words."""
    if isinstance(lead, str):
        if (title := _title(text, lead)) is not None:
            return title
        lead = _FIRST_WORDS
    return " ".join(text.split(maxsplit=lead)[:lead])


def chosen_lead(texts: list[str]) -> str | int:
    """Return how titles end in 90 % or more of the texts; 0 if they have no titles, or most are short."""
    if sum(len(text.split()) < _SHORT for text in texts) >= len(texts) / 2:
        return 0
    for end in _TITLE_ENDS:
        if sum(_title(text, end) is not None for text in texts) >= _WITH_TITLE * len(texts):
            return end
    return 0


def _title(text: str, end: str) -> str | None:
    """Return the text before the first line end, or dash; None if it is too long, or nothing follows it."""
    title, *rest = _TITLE_ENDS[end].split(text.strip(), maxsplit=1)
    return title if rest and len(title.split(maxsplit=_LONGEST_TITLE)) <= _LONGEST_TITLE else None


def _ngrams_of_characters(words: Iterable[str], lengths: range) -> Iterator[str]:
    """Yield the n-grams of each word, padded with a blank at either end; a shorter word yields one n-gram, once."""
    for word in words:
        padded = f" {word} "
        for n in lengths:
            if n >= len(padded):
                yield padded
                break
            for i in range(len(padded) - n + 1):
                yield padded[i : i + n]


def _stemmer(language: str) -> Callable[[str], str]:
    import snowballstemmer

    # Compiled if PyStemmer is installed (extra fast), with the same stems. It keeps state while it stems a word.
    stemmer, alone = snowballstemmer.stemmer(language), Lock()

    @lru_cache(_KEPT_STEMS)
    def stem(word: str) -> str:
        with alone:
            return stemmer.stemWord(word)

    return lambda word: stem(word) if len(word) <= _LONGEST_STEMMED else word


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).lower()


MOST_TEXTS, MOST_CHARACTERS = 1000, 1 << 22

# Limits on the number of terms counted at a time, of about 130 bytes each, and on their total characters.
MOST_TERMS, MOST_TERM_CHARACTERS = 6_000_000, 1 << 29

T = TypeVar("T")


def batches(texts: Iterable[T], size: Callable[[Any], int] = len) -> Iterator[list[T]]:
    """Group texts, or objects with texts, into batches of a few megabytes, with a maximum number of texts.

    `size`: returns the number of characters of an item.
    """
    batch: list[T] = []
    characters = 0
    for text in texts:
        batch.append(text)
        characters += size(text)
        if len(batch) == MOST_TEXTS or characters >= MOST_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


class TermCounts:
    """Document frequencies of terms.

    If there are more than `MOST_TERMS`, or they are too long, the rarest are dropped. If these occur again, their
    counts restart from 0.

    `analyzer`: returns the terms of a text.
    `texts`: number of texts counted.
    `of`: number of texts in which each term occurs.
    `forgotten`: number of dropped terms.
    """

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._characters = 0  # upper bound, over all terms
        self.texts = 0
        self.of: Counter[str] = Counter()
        self.forgotten = 0

    def add(self, texts: Iterable[str]) -> None:
        """Count the terms of more texts."""
        for text in texts:
            terms = set(self._analyzer(text))
            self.of.update(terms)
            self._characters += sum(map(len, terms))
            if len(self.of) > MOST_TERMS or self._characters > MOST_TERM_CHARACTERS:
                self._forget()
            self.texts += 1

    def _forget(self) -> None:
        """Drop the rarest terms to free half of the space; drop none if there is enough."""
        before = len(self.of)
        most = MOST_TERMS // 2 if before > MOST_TERMS else before
        rarest = 0
        while (size := sum(map(len, self.of))) > MOST_TERM_CHARACTERS // 2 or len(self.of) > most:
            rarest += 1
            self.of = Counter({term: count for term, count in self.of.items() if count > rarest})
        self._characters = size
        self.forgotten += before - len(self.of)

    def vocabulary(self, min_df: int, max_features: int | None, kept: set[str]) -> list[str]:
        """Return the terms that become features, in alphabetical order.

        They occur in at least `min_df` texts. If there are more than `max_features`, the most frequent ones are taken,
        ties in alphabetical order. Terms in `kept` are always features, and do not count towards the limit.
        """
        frequent = [term for term, count in self.of.items() if count >= min_df and term not in kept]
        if max_features is not None and len(frequent) > max_features:
            frequent = sorted(frequent, key=lambda term: (-self.of[term], term))[:max_features]
        return sorted([*frequent, *kept])
