"""The terms of a text: words, stems and n-grams. They are those of scikit-learn, but generated one by one.

The n-grams of a long text may not fit in memory. The stems are Snowball's.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import chain, islice
from threading import Lock

from mpu_cli.text.languages import language_of
from mpu_cli.text.vectorizer_options import NO_STEMS, TextOptions

_WORD = re.compile(r"(?u)\b\w\w+\b")  # scikit-learn's own
_KEPT_STEMS = 1 << 17
_LONGEST_STEMMED = 200  # Snowball takes time that is quadratic in the length of some words
NGRAMS = {"word": (1, 2), "char": (3, 5)}

Analyzer = Callable[[str], Iterator[str]]


def analyzer_of(options: TextOptions) -> Analyzer:
    """Return the function that gives the terms of a text, with repetitions.

    Texts are normalised to Unicode's NFKC and to lower case. Words have two characters at least, and a stem if
    they have no more than 200.

    Parameters
    ----------
    options : TextOptions
        Its `stem` is `NO_STEMS`, or languages: of several, each text has its own, and the first where it is not clear.
    """
    shortest, longest = options.ngrams or NGRAMS[options.analyzer]
    lengths = range(shortest, longest + 1)
    if options.analyzer == "char":
        return lambda text: _ngrams_of_characters(_folded(text), lengths)
    if options.stem in (None, NO_STEMS):
        return lambda text: _ngrams_of_words(_WORD.findall(_folded(text)), lengths)
    stems = {language: _stemmer(language) for language in options.languages}
    if len(stems) == 1:
        (stem,) = stems.values()
        return lambda text: _ngrams_of_words([stem(word) for word in _WORD.findall(_folded(text))], lengths)
    first = options.languages[0]

    def terms(text: str) -> Iterator[str]:
        words = _WORD.findall(_folded(text))
        stem = stems.get(language_of(text) or first)  # a text in another language keeps its words
        return _ngrams_of_words(words if stem is None else list(map(stem, words)), lengths)

    return terms


def _ngrams_of_words(words: list[str], lengths: range) -> Iterator[str]:
    return chain.from_iterable(
        map(" ".join, zip(*(islice(words, i, None) for i in range(n)), strict=False)) for n in lengths
    )


def _ngrams_of_characters(text: str, lengths: range) -> Iterator[str]:
    """Yield the n-grams of each word with a blank at either end; a shorter word is one n-gram, once."""
    for word in text.split():
        padded = f" {word} "
        for n in lengths:
            if n >= len(padded):
                yield padded
                break
            for i in range(len(padded) - n + 1):
                yield padded[i : i + n]


def _stemmer(language: str) -> Callable[[str], str]:
    import snowballstemmer

    stemmer, alone = snowballstemmer.stemmer(language), Lock()  # it keeps the word that it works on

    @lru_cache(_KEPT_STEMS)
    def stem(word: str) -> str:
        with alone:
            return stemmer.stemWord(word)

    return lambda word: stem(word) if len(word) <= _LONGEST_STEMMED else word


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).lower()
