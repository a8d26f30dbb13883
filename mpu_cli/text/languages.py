"""The language of texts: the one of which they have most function words."""

import re
from collections.abc import Iterable

# Languages with a Snowball stemmer, and the most frequent words of each.
_FUNCTION_WORDS = {
    "danish": "og at det en af er til på med den for ikke der et de som har var blev efter",
    "dutch": "de het een van en in is dat op te zijn voor met niet door aan bij ook deze wordt",
    "english": "the of and to in is for that with on are this by from as an be at it which",
    "finnish": "ja on ei se että oli mutta myös ovat kun tai sekä joka sen hän jotka mukaan",
    "french": "le la les des et en du une dans est pour que qui par sur un au aux avec ce",
    "german": "der die und das den von zu mit ist des im dem für nicht ein eine auf als sich werden",
    "hungarian": "a az és hogy nem is egy meg volt csak ez de mint vagy amely szerint között",
    "italian": "il la di e che in un per del della con le dei nel una gli delle alla sono non",
    "norwegian": "og i det på er en som til av for med ikke å et den har fra blir eller etter",
    "portuguese": "o a os as de e em do da que um para com uma não no na dos das por",
    "romanian": "și în de la a cu care pe din este un o nu sau pentru prin sunt mai al",
    "russian": "и в не на что с по как это к из у за от для о при его или был",
    "spanish": "el la los las de y en que del una por con para es se un al como su no",
    "swedish": "och att det som en på är av för med den till inte ett om har från eller vid",
    "turkish": "ve bir bu için ile da de olarak olan çok daha en gibi kadar sonra göre",
}
LANGUAGES = tuple(_FUNCTION_WORDS)
_WORDS = re.compile(r"[^\W\d_]+")
_LEAST_SHARE = 0.05  # of all words
_LEAST_LEAD = 1.2  # over the language that comes second


def guess_language(texts: Iterable[str]) -> str | None:
    """Guess the language that texts are in.

    Parameters
    ----------
    texts : iterable of str

    Returns
    -------
    str or None
        One of `LANGUAGES`; None where no language has most of its function words in the texts.

    Examples
    --------
    >>> guess_language(["The history of the theory of numbers", "An introduction to the calculus"])
    'english'
    >>> guess_language(["Digital television"])
    """
    of_word: dict[str, list[str]] = {}
    for language, words in _FUNCTION_WORDS.items():
        for word in words.split():
            of_word.setdefault(word, []).append(language)
    counts = dict.fromkeys(LANGUAGES, 0)
    total = 0
    for text in texts:
        for match in _WORDS.finditer(text.lower()):
            total += 1
            for language in of_word.get(match[0], ()):
                counts[language] += 1
    first, second = sorted(counts, key=counts.__getitem__, reverse=True)[:2]
    if counts[first] < max(1, _LEAST_SHARE * total) or counts[first] < _LEAST_LEAD * counts[second]:
        return None
    return first
