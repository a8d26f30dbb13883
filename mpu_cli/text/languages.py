"""Guess the language of texts: the one with most of their function words."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, repeat

from mpu_cli.errors import counted

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
_WORDS = re.compile(r"[^\W\d_]+")
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
    words = _WORDS.findall(text[:_READ].lower())
    counts = Counter(chain.from_iterable(map(_LANGUAGES_OF.get, words, repeat(()))))
    (first, most), (_, second) = [*counts.most_common(2), ("", 0), ("", 0)][:2]
    is_clear = most >= max(_LEAST_SHARE * len(words), _LEAST_LEAD * second)
    return first if is_clear and len(function_words(first).intersection(words)) >= _FEWEST else None


def function_words(language: str | None) -> frozenset[str]:
    """Return the most frequent words of a language, such as "of"; none if it is not one of `LANGUAGES`."""
    return frozenset(_FUNCTION_WORDS.get(language or "", "").split())


def languages_of(texts: Iterable[str]) -> Counter[str]:
    """Count texts by language, skipping those whose language is unclear."""
    return Counter(filter(None, map(language_of, texts)))


def of_collection(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the languages of a collection, most frequent first: each with at least a twentieth of the texts.

    Languages without a stemmer are left out. Texts of unclear language count as texts.
    """
    counts = Counter(language_of(text) or "" for text in texts)
    least = _LEAST_TEXTS * counts.total()
    return tuple(language for language, count in counts.most_common() if count >= least and language in LANGUAGES)


def strangers(counts: Counter[str], languages: Sequence[str], texts: int) -> str | None:
    """Return a warning about texts in languages without stems, if they are at least a twentieth of all.

    Counts are as from `languages_of`. Without `languages`, return None: the languages seen are unknown.
    """
    others = [(language, count) for language, count in counts.most_common() if language not in languages]
    count = sum(count for _, count in others)
    if not languages or count < max(1, _LEAST_TEXTS * texts):
        return None
    listed = ", ".join(f"{language} {count:,}" for language, count in others)
    return (
        f"{count:,} of {counted(texts, 'text')} in other languages than those of the stems, {', '.join(languages)}: "
        f"{listed}; predictions for such texts may be worth little"
    )
