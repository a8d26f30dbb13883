"""The vectoriser, with scikit-learn's on everything at once as the reference."""

import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize

from mpu_cli.errors import DataError
from mpu_cli.text.vectorizer import Vectorizer
from tests.golden import refused

WORDS = ["run", "running", "the", "digital", "television", "Straße", "naïve", "ab12", "x"]
TEXTS = st.lists(st.lists(st.sampled_from(WORDS)).map(" ".join), min_size=1, max_size=30).filter(
    lambda texts: any(len(word) > 1 for text in texts for word in text.split())
)


# What scikit-learn calls these analyzers.
THEIRS = {"word": {"analyzer": "word", "ngram_range": (1, 2)}, "char": {"analyzer": "char_wb", "ngram_range": (3, 5)}}


@given(TEXTS, st.sampled_from([*THEIRS]))
def test_equals_scikit_learn_on_everything_at_once(texts, analyzer):
    reference = TfidfVectorizer(sublinear_tf=True, **THEIRS[analyzer])
    expected = reference.fit_transform(texts)
    vectorizer = Vectorizer(analyzer=analyzer, stem="none", lead=0, min_df=1).fit(iter(texts))
    assert list(vectorizer.get_feature_names_out()) == list(reference.get_feature_names_out())
    found = vectorizer.transform(texts)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.toarray(), expected.toarray(), rtol=1e-5, atol=1e-7)


@given(TEXTS, st.sampled_from([*THEIRS]), st.integers(1, 4), st.sampled_from([None, 24]))
def test_the_first_words_count_half_as_much_as_the_text(texts, analyzer, lead, hashing):
    options = {"analyzer": analyzer, "stem": "none", "hashing": hashing}
    found = Vectorizer(**options, lead=lead).fit(texts).transform(texts)
    weigher = TfidfVectorizer(sublinear_tf=True, **THEIRS[analyzer])
    whole, leads = weigher.fit_transform(texts), weigher.transform([" ".join(text.split()[:lead]) for text in texts])
    expected = normalize(whole + leads / 2)
    for i in range(len(texts)):
        np.testing.assert_allclose(np.sort(found[[i]].data), np.sort(expected[[i]].data), rtol=1e-5)


TEN = "one two three four five six seven eight nine ten"  # no title has more words
BODY = " nothing but words of a body that say little" * 6


@pytest.mark.parametrize(
    ("lead", "text", "title"),
    [
        ("line", f"  Digital television\n{BODY}", "digital television"),
        ("line", f"Digital - television\r\n{BODY}", "digital television"),
        ("dash", f"Digital-television \u2013 {BODY} - and more", "digital television"),
        ("line", f"{TEN} {BODY}\nmore", TEN),
        ("dash", f"{TEN} eleven", TEN),
        ("line", "only a title\n", "only a title"),
        (0, f"Digital television\n{BODY}", ""),
    ],
)
def test_a_title_ends_with_a_line_or_a_dash_and_is_short(lead, text, title):
    vectorizer = Vectorizer(lead=lead, stem="none").fit([text])
    plain = Vectorizer(lead=0, stem="none").fit([text])
    expected = normalize(plain.transform([text]) + plain.transform([title]) / 2)
    np.testing.assert_allclose(vectorizer.transform([text]).toarray(), expected.toarray(), rtol=1e-5)


@pytest.mark.parametrize(
    ("texts", "lead"),
    [
        ([f"Title\n{BODY}"] * 9 + [BODY], "line"),
        ([f"Title - sub\n{BODY} - end"] * 10, "line"),
        ([f"Title - {BODY}"] * 9 + [BODY], "dash"),
        ([f"Title - {BODY}"] * 8 + [BODY] * 2, 0),
        ([f"Title - {BODY}"] * 5 + ["Title - too short"] * 5, 0),
        ([], 0),
    ],
)
def test_how_titles_end_is_read_from_the_texts(texts, lead):
    assert Vectorizer(hashing=8).fit(texts).options_.lead == lead
    assert Vectorizer(hashing=8).fit(iter(texts)).options_.lead == lead


def test_a_title_has_the_stems_of_its_text():
    """By itself the language of this title is not clear, and houses would be english."""
    texts = ["Häusern\n" + "der und die das mit von zu nicht auf ist " * 3, "the houses of the city"]
    titled, plain = (Vectorizer(stem="english,german", lead=lead).fit(texts) for lead in ("line", 0))
    stem = titled.features_.index("haus")
    assert titled.transform(texts)[0, stem] > plain.transform(texts)[0, stem] > 0


@pytest.mark.parametrize("n", [1, 2500])
def test_hashes_equal_scikit_learn_on_everything_at_once(n):
    rng = np.random.default_rng(n)
    texts = [" ".join(rng.choice(WORDS, 5)) for _ in range(n)]
    hasher = HashingVectorizer(ngram_range=(1, 2), n_features=2**10, alternate_sign=False, norm=None)
    expected = TfidfTransformer(sublinear_tf=True).fit_transform(hasher.transform(texts))
    vectorizer = Vectorizer(hashing=10, stem="none", lead=0).fit(iter(texts))
    np.testing.assert_allclose(vectorizer.transform(texts).toarray(), expected.toarray(), rtol=1e-5)
    with refused(DataError):
        vectorizer.get_feature_names_out()


def test_it_is_a_scikit_learn_transformer():
    texts = ["good film", "bad film", "good book", "bad book"] * 5
    pipeline = make_pipeline(Vectorizer(stem="english"), LogisticRegression())
    assert pipeline.fit(texts, [1, 0, 1, 0] * 5).score(texts, [1, 0, 1, 0] * 5) == 1
    assert clone(pipeline[0]).get_params() == pipeline[0].get_params()
    assert pipeline[0].get_params()["min_df"] == "auto"


def features(vectorizer: Vectorizer) -> set[str]:
    return set(vectorizer.get_feature_names_out())


@pytest.mark.parametrize(("n", "least", "rare"), [(99, 1, "one two"), (100, 2, "two"), (999, 2, "two"), (1000, 3, "")])
def test_rare_features_are_left_out_where_there_are_many_texts(n, least, rare):
    texts = [f"{'one ' * (i < 1)}{'two ' * (i < 2)}{'three ' * (i < 3)}always" for i in range(n)]
    vectorizer = Vectorizer(ngrams=(1, 1)).fit(texts)
    assert (vectorizer.options_.min_df, features(vectorizer)) == (least, {"three", "always", *rare.split()})


def test_terms_of_names_are_features_in_any_case_and_else_the_most_frequent_ones():
    vectorizer = Vectorizer(min_df=2, stem="none", max_features=1).fit(["aa bb cc", "aa bb"], names=["New York", "cc"])
    assert features(vectorizer) == {"aa", "new", "york", "new york", "cc"}
    vectorizer = Vectorizer(min_df=1, ngrams=(1, 1), stem="none", max_features=2).fit(["aa bb cc", "bb cc", "cc dd"])
    assert features(vectorizer) == {"bb", "cc"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cafe\u0301 \ufb01lm", ["café", "film"]),  # other Unicode forms are the same word
        ("İstanbul istanbul I\u0307STANBUL i\u0307stanbul", ["istanbul"]),
        ("राजनीति, भोजन। कि বাংলাদেশ தமிழ்நாடு", ["राजनीति", "भोजन", "कि", "বাংলাদেশ", "தமிழ்நாடு"]),
        ("مُحَمَّد שָׁלוֹם", ["مُحَمَّد", "שָׁלוֹם"]),
        ("Yoru\u0300ba\u0301 e\u0323\u0300ko\u0323\u0301", ["yorùbá", "ẹ̀kọ́"]),
        ("می\u200cخواهم\u200c \u200d؛ 𑄌𑄋𑄴𑄟𑄳𑄦 \u0301 +\u0301", ["می\u200cخواهم", "𑄌𑄋𑄴𑄟𑄳𑄦"]),
        ("한국의 역사, བོད་ཀྱི་ལོ་རྒྱུས།", ["한국의", "역사", "བོད", "ཀྱི", "ལོ", "རྒྱུས"]),
        # Without blanks: pairs of letters.
        ("iPhone手机的，第3章", ["iphone", "手机", "机的", "第", "章"]),
        (
            "葛\U000e0100城 手\ufe00\u0301机\u0301的 か\ufe00\u3099く",
            ["葛城", "手\u0301机\u0301", "机\u0301的", "がく"],
        ),
        ("ｶﾞｯｺｳ・歴史々 𠮷野", ["ガッ", "ッコ", "コウ", "歴史", "史々", "𠮷野"]),
        ("วัติน้ำ2", ["วัติ", "ติน้ํ", "น้ํา"]),
        ("မြန်မာ ខ្មែរ ພາສາ", ["မြန်", "န်မာ", "ខ្មែ", "មែរ", "ພາ", "າສ", "ສາ"]),
    ],
)
def test_the_words_of_many_scripts(text, words):
    vectorizer = Vectorizer(ngrams=(1, 1), stem="none").fit([text])
    assert features(vectorizer) == {unicodedata.normalize("NFKC", word) for word in words}


def test_names_become_vectors_of_unit_length():
    vectorizer = Vectorizer(stem="none").fit(["digital television", "radio"])
    vectors = vectorizer.transform_names([("Digital television",), (), ("unheard of",), ("radio", "television")])
    assert isinstance(vectors, csr_array) and vectors.dtype == np.float32
    np.testing.assert_allclose(np.sqrt((vectors.toarray() ** 2).sum(1)), [1, 0, 0, 1], rtol=1e-6)
    np.testing.assert_allclose(vectors.toarray()[0], vectorizer.transform(["digital television"]).toarray()[0])
    both = vectorizer.transform(["radio", "television"]).toarray().sum(0)
    np.testing.assert_allclose(vectors.toarray()[3], both / np.linalg.norm(both), rtol=1e-6)


def test_a_wrong_parameter_and_nothing_left_are_errors():
    for wrong in ({"min_df": True}, {"analyzer": None}, {"ngrams": "1-2"}, {"ngrams": (2, 1)}):
        with refused(DataError):
            Vectorizer(**wrong).fit(["a text"])
    with refused(DataError):
        Vectorizer(min_df=5).fit(["a text"])
    with refused(DataError):
        Vectorizer().fit("one text")
    with refused(ValueError):
        Vectorizer().fit(["one text", float("nan")])


@pytest.mark.parametrize("options", [{}, {"hashing": 10}])
def test_no_texts_are_no_vectors(options):
    fitted = Vectorizer(**options).fit(["digital radio"])
    assert fitted.transform([]).shape == (0, fitted.stored().width)


def test_threads_that_stem_at_the_same_time_get_the_same_vectors():
    """Snowball's stemmers keep the word that they work on: one in a hundred was another's."""
    words = [f"{a}{b}{c}ational{d}" for a in "bcdfgh" for b in "aeiou" for c in "lmnprst" for d in ("s", "ly", "ing")]
    vectorizer = Vectorizer(stem="english", ngrams=(1, 1), min_df=1).fit(words)
    alone = vectorizer.transform(words)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(5):
            fresh = Vectorizer.of(vectorizer.stored())
            with ThreadPoolExecutor(4) as pool:
                for found in pool.map(fresh.transform, [words] * 4):
                    assert (found != alone).nnz == 0
    finally:
        sys.setswitchinterval(interval)
