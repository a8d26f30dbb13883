"""The language and the terms of a text, document frequencies, and the options of a vectoriser.

The language is guessed: the one with most of its function words. Terms (words, stems, n-grams) are the same as
scikit-learn's, but are generated one by one: the n-grams of a long text may not fit in memory. Stems are Snowball's.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import chain, islice, repeat
from threading import Lock
from typing import Any, TypeVar

from mpu_cli.errors import counted
from mpu_cli.runtime.options import AUTO, Integer, Kind, Span, declared

# Languages with a Snowball stemmer and their codes, and the most frequent words of each.
_WORDS_OF = {
    "danish da dan": "og at det en af er til på med den for ikke der et de som har var blev efter",
    "dutch nl nld dut": "de het een van en in is dat op te zijn voor met niet door aan bij ook deze wordt",
    "english en eng": "the of and a to in is for that with on are this by from as an be at it which",
    "finnish fi fin": "ja on ei se että oli mutta myös ovat kun tai sekä joka sen hän jotka mukaan",
    "french fr fra fre": "le la les des et en du une dans est pour que qui par sur un au aux avec ce",
    "german de deu ger": "der die und das den von zu mit ist des im dem für nicht ein eine auf als sich werden",
    "hungarian hu hun": "a az és hogy nem is egy meg volt csak ez de mint vagy amely szerint között",
    "italian it ita": "il la di e che in un per del della con le dei nel una gli delle alla sono non",
    "norwegian no nor nb nob nn nno": "og i det på er en som til av for med ikke å et den har fra blir eller etter",
    "portuguese pt por": "o a os as de e em do da que um para com uma não no na dos das por",
    "romanian ro ron rum": "și în de la a cu care pe din este un o nu sau pentru prin sunt mai al",
    "russian ru rus": "и в не на что с по как это к из у за от для о при его или был",
    "spanish es spa": "el la los las de y en que del una por con para es se un al como su no",
    "swedish sv swe": "och att det som en på är av för med den till inte ett om har från eller vid",
    "turkish tr tur": "ve bir bu için ile da de olarak olan çok daha en gibi kadar sonra göre",
}
_FUNCTION_WORDS = {names.split()[0]: words for names, words in _WORDS_OF.items()}
_OF_CODE = {code: names.split()[0] for names in _WORDS_OF for code in names.split()}
LANGUAGES = tuple(_FUNCTION_WORDS)
_LANGUAGES_OF = {
    word: [language for language, of_it in _FUNCTION_WORDS.items() if word in of_it.split()]
    for words in _FUNCTION_WORDS.values()
    for word in words.split()
}
_LETTERS = re.compile(r"[^\W\d_]+")
_LEAST_SHARE = 0.05  # of all words
_LEAST_LEAD = 1.2  # over the second language
_FEWEST = 2  # different function words of a single text
_READ = 2000  # characters of a single text
_LEAST_TEXTS = 0.05  # share of all texts, for a language of the collection


class TextIn(str):
    """A text with its language.

    `language`: one of `LANGUAGES`, or any other text for a language without stems.
    """

    __slots__ = ("language",)

    language: str

    @classmethod
    def of(cls, text: str, code: str) -> "TextIn":
        """Return a text in the language with a code (ISO 639-1, 639-2, or the English name), such as ``de-AT``."""
        one = cls(text)
        plain = code.strip().lower()
        one.language = _OF_CODE.get(plain, _OF_CODE.get(re.split("[-_]", plain)[0], plain))
        return one


def language_of(text: str) -> str | None:
    """Return the language of a single text.

    `text`: only the beginning of a long one is read; a `TextIn` contains its language.
    Returns: None if it is unclear: few function words, or hardly more than in another language.

    Examples
    --------
    >>> language_of("The history of the theory of numbers"), language_of("The arts")
    ('english', None)
    >>> language_of(TextIn.of("Kunst", "de"))
    'german'
    """
    if isinstance(text, TextIn) and text.language:
        return text.language
    words = _LETTERS.findall(text[:_READ].lower())
    counts = Counter(chain.from_iterable(map(_LANGUAGES_OF.get, words, repeat(()))))
    (first, most), (_, second) = [*counts.most_common(2), ("", 0), ("", 0)][:2]
    is_clear = most >= max(_LEAST_SHARE * len(words), _LEAST_LEAD * second)
    return first if is_clear and len(function_words(first).intersection(words)) >= _FEWEST else None


def function_words(language: str | None) -> frozenset[str]:
    """Return the most frequent words of a language, such as "of"; none if it is not one of `LANGUAGES`."""
    return frozenset(_FUNCTION_WORDS.get(language or "", "").split())


def languages_of(texts: Iterable[str]) -> Counter[str]:
    """Count texts by language, those whose language is unclear by an empty text."""
    return Counter(language_of(text) or "" for text in texts)


def stem_for(texts: Iterable[str]) -> str:
    """Return `TextOptions.stem` for a collection: each language with at least a twentieth of the texts.

    Languages without a stemmer are left out. Texts of unclear language count as texts.
    """
    counts = languages_of(texts)
    least = _LEAST_TEXTS * counts.total()
    frequent = (language for language, count in counts.most_common() if count >= least)
    return ",".join(language for language in frequent if language in LANGUAGES) or NO_STEMS


def strangers(counts: Counter[str], languages: Sequence[str]) -> str | None:
    """Return a warning about texts in languages without stems, if they are at least a twentieth of all.

    Counts are as from `languages_of`. Without `languages`, return None: the languages seen are unknown.
    """
    others = [(language, count) for language, count in counts.most_common() if language not in ("", *languages)]
    count, texts = sum(count for _, count in others), counts.total()
    if not languages or count < max(1, _LEAST_TEXTS * texts):
        return None
    listed = ", ".join(f"{language} {count:,}" for language, count in others)
    return (
        f"{count:,} of {counted(texts, 'text')} in other languages than those of the stems, {', '.join(languages)}: "
        f"{listed}; predictions for such texts may be worth little"
    )


NO_STEMS = "none"
LINE, DASH = "line", "dash"
LONGEST_NGRAM = 10


class _Languages(Kind):
    metavar = "word"
    type = "str"

    def _checked(self, value: Any, given: Any) -> str:
        languages = value.split(",") if isinstance(value, str) else [value]
        if not isinstance(value, str) or len({*languages}) < len(languages) or not {*languages} <= {*LANGUAGES}:
            raise self._refused(given, f"one or several of {', '.join(LANGUAGES)}, with commas between them")
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
    max_features: int | None = declared(
        Integer(1), None, "Keep at most this many features, those in most texts, and also those of label names."
    )
    hashing: int | None = declared(
        Integer(8, 30), None, "Number features by a hash of this many bits, without a vocabulary."
    )

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of the stems; empty without stems."""
        return () if self.stem in (None, NO_STEMS) else tuple(str(self.stem).split(","))


_WORD = re.compile(r"\w\w+")  # scikit-learn's own
_IN_OTHER_SCRIPTS = re.compile("[\u0300-\u036f\u0483-\u1dff\u200c\u200d\u20d0-\U0010ffff]")
# Thai, Lao, Burmese, Khmer, Japanese and Chinese letters and marks
_WITHOUT_BLANKS = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u103f\u1050-\u108f\u1780-\u17d3\u3005-\u3007\u3041-\u3096"
    "\u309d-\u309f\u30a1-\u30fa\u30fc-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
)
_SELECTORS = re.compile("[\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")  # of a letter's variant
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

    Texts are normalised to Unicode's NFKC and to lower case, without variation selectors. Words have at least two
    characters, which may be vowel signs and accents, and are stemmed if they have at most 200. In scripts without
    blanks between words, pairs of adjacent letters stand for them, or a single letter between others.

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
        words = _words(_folded(text))
        stem = stems.get(first if len(stems) < 2 else language_of(text) or first)
        words = words if stem is None else [stem(word) for word in words]
        return chain.from_iterable(
            map(" ".join, zip(*(islice(words, i, None) for i in range(n)), strict=False)) for n in lengths
        )

    return of_words


def _words(text: str) -> list[str]:
    if text.isascii() or not _IN_OTHER_SCRIPTS.search(text):
        return _WORD.findall(text)
    word, pair = _patterns()
    return word.findall(pair.sub(r" \1\2\3 ", text))


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of a word, and of a letter of a script without blanks and the next one, if there is one.

    The last two of several such letters are one match. Combining marks, which are not in ``\\w``, belong to their
    words, as do joiners between letters.
    """
    all_others = map(chr, range(0x300, 0x1F000))
    runs = "".join(one if unicodedata.category(one).startswith("M") else " " for one in all_others).split()
    marks = "".join(f"{run[0]}-{run[-1]}" for run in runs)
    letter = rf"[{_WITHOUT_BLANKS}][{marks}]*+"
    word = rf"\w[\w{marks}\u200c\u200d]*[\w{marks}]|[{_WITHOUT_BLANKS}]"
    pair = rf"({letter})(?:(?=({letter})[{_WITHOUT_BLANKS}])|({letter})?)"
    return re.compile(word), re.compile(pair)


def lead_of(text: str, lead: str | int) -> str:
    """Return the beginning of a text: its title, if one ends as `lead` specifies, or else its first words."""
    if isinstance(lead, str):
        if (title := _title(text, lead)) is not None:
            return title
        lead = _FIRST_WORDS
    return " ".join(text.split(maxsplit=lead)[:lead])


def chosen(options: TextOptions, first: list[str], texts: Iterable[str]) -> TextOptions:
    """Return options with the choices for ``auto`` but `min_df`, from the first texts and, for stems, more of them."""
    lead = _chosen_lead(first) if options.lead is None else options.lead
    stem = NO_STEMS if options.analyzer == "char" else options.stem or stem_for(texts)
    return replace(options, ngrams=options.ngrams or NGRAMS[options.analyzer], lead=lead, stem=stem)


def _chosen_lead(texts: list[str]) -> str | int:
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
    # Turkish capital I with a dot becomes i with a combining dot.
    text = text if text.isascii() else _SELECTORS.sub("", text)
    return unicodedata.normalize("NFKC", text).lower().replace("i\u0307", "i")


MOST_TEXTS, MOST_CHARACTERS = 1000, 1 << 22

# Limits on the number of terms counted at a time, of about 130 bytes each, and on their total characters.
MOST_TERMS, MOST_TERM_CHARACTERS = 6_000_000, 1 << 29

T = TypeVar("T")


def batches(texts: Iterable[T], size: Callable[[Any], int] = len) -> Iterator[list[T]]:
    """Group texts, or objects with this number of characters, into batches of a few megabytes, and of not too many."""
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


def term_counts(texts: Iterable[str], analyzer: Analyzer) -> tuple[Counter[str], int, int]:
    """Count in how many texts each term occurs; also return the number of texts, and of terms that were dropped.

    If there are more than `MOST_TERMS`, or they are too long, the rarest are dropped. If these occur again, their
    counts restart from 0.
    """
    counts: Counter[str] = Counter()
    n = dropped = 0
    characters = 0  # upper bound, over all terms
    for text in texts:
        n += 1
        terms = set(analyzer(text))
        counts.update(terms)
        characters += sum(map(len, terms))
        if len(counts) > MOST_TERMS or characters > MOST_TERM_CHARACTERS:
            kept, characters = _most_frequent(counts)
            dropped += len(counts) - len(kept)
            counts = kept
    return counts, n, dropped


def _most_frequent(counts: Counter[str]) -> tuple[Counter[str], int]:
    """Drop the rarest terms to free half of the space, or none if there is enough; also count their characters."""
    most = MOST_TERMS // 2 if len(counts) > MOST_TERMS else len(counts)
    rarest = 0
    while (size := sum(map(len, counts))) > MOST_TERM_CHARACTERS // 2 or len(counts) > most:
        rarest += 1
        counts = Counter({term: count for term, count in counts.items() if count > rarest})
    return counts, size
