"""The options of a vectoriser."""

from dataclasses import dataclass

from mpu_cli.runtime.options import AUTO, Several, Span, Whole, WordOr, Words, option
from mpu_cli.text.languages import LANGUAGES

NO_STEMS = "none"
LONGEST_NGRAM = 10


@dataclass(frozen=True)
class TextOptions:
    """How texts become vectors. `mpu vectorize` and `Vectorizer` have these by the same names."""

    analyzer: str = option(
        Words(("word", "char")),
        "word",
        "Features are words and n-grams of neighbouring words, or n-grams of characters within words.",
    )
    ngrams: tuple[int, int] | None = option(
        WordOr((AUTO,), Span(1, LONGEST_NGRAM)),
        None,
        "Shortest and longest n-gram, such as 1-2: single words and pairs of neighbours. auto: 1-2 of words, 3-5 of "
        "characters.",
    )
    stem: str | None = option(
        WordOr((AUTO, NO_STEMS), Several(LANGUAGES)),
        None,
        "Reduce words to their stems in this language; of several, such as english,german, each text in its own, by "
        "its function words, and in the first where that is not clear. auto: the languages that a twentieth of the "
        "texts are in, or none; n-grams of characters are of whole words.",
    )
    weighting: str = option(
        Words(("tfidf", "log-tfidf", "tf", "binary")),
        "tfidf",
        "tfidf: term frequency times inverse document frequency; log-tfidf: the same with 1 + log of the term "
        "frequency; tf: term frequency; binary: 1. Each vector then gets unit length.",
    )
    min_df: int | None = option(
        WordOr((AUTO,), Whole(1)),
        None,
        "Keep features that occur in at least this many texts, or in the name of a label. auto: 3 from 1,000 texts on, "
        "2 from 100 on, otherwise 1.",
    )
    max_features: int | None = option(
        Whole(1), None, "Keep at most this many features that occur in no name of a label: those in most texts."
    )
    hashing: int | None = option(
        Whole(8, 30),
        None,
        "Number features by a hash of this many bits, and keep no vocabulary. Takes no --min-df and --max-features.",
    )

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of the stems; none without stems."""
        return () if self.stem in (None, NO_STEMS) else tuple(str(self.stem).split(","))
