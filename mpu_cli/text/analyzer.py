"""The terms of a text, in how many texts each occurs, and the options of a vectoriser: words, stems and n-grams.

Terms are those of scikit-learn, but generated one by one: the n-grams of a long text may not fit in memory. The stems
are Snowball's.
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
    """One or several languages, with commas between them."""

    metavar = "word"
    type = "str"

    def _checked(self, value: Any) -> str:
        given = value.split(",") if isinstance(value, str) else [value]
        if not isinstance(value, str) or len({*given}) < len(given) or not {*given} <= {*LANGUAGES}:
            raise self._refused(value, f"one or several of {', '.join(LANGUAGES)}, with commas between them")
        return value


@dataclass(frozen=True)
class TextOptions:
    """How texts become vectors. `mpu vectorize` and `Vectorizer` have these by the same names."""

    analyzer: str = declared(
        Kind(words=("word", "char")),
        "word",
        "Words and n-grams of words, or n-grams of characters within words.",
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
        "Beginning of a text whose words count more: its first line, the part before a dash, N words, or 0. auto: as "
        "the texts suggest.",
    )
    min_df: int | None = declared(
        Integer(1, words=(AUTO,)),
        None,
        "Keep features in at least N texts. auto: 1 to 3, by the number of texts.",
    )
    max_features: int | None = declared(Integer(1), None, "Keep at most N features, those in most texts.")
    hashing: int | None = declared(
        Integer(8, 30),
        None,
        "Number features by a hash of N bits, without a vocabulary.",
    )

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of the stems; none without stems."""
        return () if self.stem in (None, NO_STEMS) else tuple(str(self.stem).split(","))


_WORD = re.compile(r"(?u)\b\w\w+\b")  # scikit-learn's own
_KEPT_STEMS = 1 << 17
_LONGEST_STEMMED = 200  # Snowball takes time that is quadratic in the length of some words
_TITLE_ENDS = {LINE: re.compile(r"\n"), DASH: re.compile(r"\s[-\u2013\u2014]\s")}
_LONGEST_TITLE, _FIRST_WORDS = 25, 10
_WITH_TITLE = 0.9  # share of the texts
_SHORT = 50  # words; the beginning of a text says no more than the rest where it is short
NGRAMS = {"word": (1, 2), "char": (3, 5)}

Analyzer = Callable[[str], Iterator[str]]


def analyzer_of(options: TextOptions) -> Analyzer:
    """Return the function from a text to its terms, with repetitions.

    Texts are normalised to Unicode's NFKC and to lower case. Words have two characters at least, and a stem if
    they have no more than 200.

    `options`: its `stem` is `NO_STEMS`, or languages: of several, each text has its own, and the first where it is not
    clear.
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
        return _ngrams_of_words(words if stem is None else [stem(word) for word in words], lengths)

    return of_words


def lead_of(text: str, lead: str | int) -> str:
    """Return the beginning of a text: its title, if one ends as `lead` says, or its first words."""
    if isinstance(lead, str):
        title = _title(text, lead)
        if title is not None:
            return title
        lead = _FIRST_WORDS
    return " ".join(text.split(maxsplit=lead)[:lead])


def chosen_lead(texts: list[str]) -> str | int:
    """Return how nine texts of ten end their titles, or the number of first words; 0 where most texts are short."""
    if sum(len(text.split()) < _SHORT for text in texts) >= len(texts) / 2:
        return 0
    for end in _TITLE_ENDS:
        if sum(_title(text, end) is not None for text in texts) >= _WITH_TITLE * len(texts):
            return end
    return _FIRST_WORDS


def _title(text: str, end: str) -> str | None:
    """Return what stands before the first line end, or dash; None if that is too long, or nothing follows it."""
    title, *rest = _TITLE_ENDS[end].split(text.strip(), maxsplit=1)
    return title if rest and len(title.split(maxsplit=_LONGEST_TITLE)) <= _LONGEST_TITLE else None


def _ngrams_of_words(words: list[str], lengths: range) -> Iterator[str]:
    return chain.from_iterable(
        map(" ".join, zip(*(islice(words, i, None) for i in range(n)), strict=False)) for n in lengths
    )


def _ngrams_of_characters(words: Iterable[str], lengths: range) -> Iterator[str]:
    """Yield the n-grams of each word with a blank at either end; a shorter word is one n-gram, once."""
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

    # Compiled where PyStemmer is installed (extra fast), with the same stems. It keeps the word that it works on.
    stemmer, alone = snowballstemmer.stemmer(language), Lock()

    @lru_cache(_KEPT_STEMS)
    def stem(word: str) -> str:
        with alone:
            return stemmer.stemWord(word)

    return lambda word: stem(word) if len(word) <= _LONGEST_STEMMED else word


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).lower()


MOST_TEXTS, MOST_CHARACTERS = 1000, 1 << 22

# Terms that are counted at a time, of about 130 bytes each, and their characters.
MOST_TERMS, MOST_TERM_CHARACTERS = 6_000_000, 1 << 29

T = TypeVar("T")


def batches(texts: Iterable[T], size: Callable[[Any], int] = len, most: int = MOST_TEXTS) -> Iterator[list[T]]:
    """Group texts, or objects with texts, into batches of a few megabytes, with a maximum number of texts.

    `size` returns the number of characters of one.
    """
    batch: list[T] = []
    characters = 0
    for text in texts:
        batch.append(text)
        characters += size(text)
        if len(batch) == most or characters >= MOST_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


class TermCounts:
    """Document frequencies of terms.

    If there are more than `MOST_TERMS`, or longer ones, the rarest are dropped. They are counted from 0 if they occur
    again.

    `analyzer`: returns the terms of a text.
    `texts`: Texts counted.
    `of`: in how many texts each term occurs.
    `forgotten`: number of dropped terms.
    """

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._characters = 0  # at most, of all terms
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
        """Drop the rarest terms, so that half of the room is free; nothing if the room suffices."""
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

        They occur in at least `min_df` texts; of more than `max_features` those that occur in most texts are taken,
        ties in alphabetical order. Those in `kept` are always features, and do not count.
        """
        frequent = [term for term, count in self.of.items() if count >= min_df and term not in kept]
        if max_features is not None and len(frequent) > max_features:
            frequent = sorted(frequent, key=lambda term: (-self.of[term], term))[:max_features]
        return sorted([*frequent, *kept])
