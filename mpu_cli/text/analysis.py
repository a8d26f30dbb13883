"""What a text consists of: words, stems, n-grams. scikit-learn cuts texts up; the stems are Snowball's."""

import unicodedata
from collections.abc import Callable
from functools import lru_cache

from sklearn.feature_extraction.text import CountVectorizer

from mpu_cli.text.options import NO_STEMS, TextOptions

_WORD = r"(?u)\b\w\w+\b"  # scikit-learn's own
_KEPT_STEMS = 1 << 17
NGRAMS = {"word": (1, 2), "char": (3, 5)}

Analyzer = Callable[[str], list[str]]


def analyzer_of(options: TextOptions) -> Analyzer:
    """Return the function that gives the terms of a text, with repetitions.

    Texts are brought to Unicode's form NFKC and to small letters. Words have two characters at least.

    Parameters
    ----------
    options : TextOptions
        Its `stem` is a language or `NO_STEMS`.
    """
    ngrams = options.ngrams or NGRAMS[options.analyzer]
    if options.analyzer == "char":
        return CountVectorizer(preprocessor=_folded, analyzer="char_wb", ngram_range=ngrams).build_analyzer()
    cut = CountVectorizer(token_pattern=_WORD).build_tokenizer()
    tokenizer = cut
    if options.stem not in (None, NO_STEMS):
        stem = _stemmer(options.stem)

        def tokenizer(text: str) -> list[str]:
            return [stem(word) for word in cut(text)]

    return CountVectorizer(
        preprocessor=_folded, tokenizer=tokenizer, token_pattern=None, ngram_range=ngrams
    ).build_analyzer()


def _stemmer(language: str) -> Callable[[str], str]:
    import snowballstemmer

    return lru_cache(_KEPT_STEMS)(snowballstemmer.stemmer(language).stemWord)


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).lower()
