"""Texts in several languages: each is stemmed by its own."""

import json
from importlib import import_module

import pytest

from mpu_cli import Vectorizer
from mpu_cli.text.analyzer import LANGUAGES, TextIn, language_of

GREETINGS = {
    "english": "This paper describes the design of a new method for the analysis of data, and it is tested.",
    "german": "Diese Arbeit beschreibt den Entwurf einer neuen Methode für die Analyse von Daten, und sie ist mit der",
    "french": "Cet article décrit la conception d'une nouvelle méthode pour l'analyse des données dans le cas des",
    "spanish": "Este artículo describe el diseño de un nuevo método para el análisis de los datos que se usan en la",
    "swedish": "Denna artikel beskriver utformningen av en ny metod för analys av data och det är inte som den",
    "russian": "В этой статье описан новый метод для анализа данных и он не был проверен на том что и как",
}
ENGLISH = "the houses of the city and the gardens of the king"
GERMAN = "die Häuser der Stadt und die Gärten der Könige sind nicht alt"


@pytest.mark.parametrize("language", GREETINGS)
def test_the_language_of_a_single_text(language):
    assert language_of(GREETINGS[language]) in (language, None)
    assert language_of(TextIn.of("Kunst", language)) == language


@pytest.mark.parametrize("code", ["de", "ger", "deu", "German", "de-AT", "de_CH", " DE "])
def test_codes(code):
    assert language_of(TextIn.of("x", code)) == "german"


def test_what_is_not_clear_is_not_guessed():
    for text in ("", "the", "the die", "house garden", "of the der die", "Kup chleb do domu, do pracy"):
        assert language_of(text) is None
    assert language_of(TextIn.of("the houses of the city", "pl")) == "pl"
    assert language_of(TextIn.of("the houses of the city", "")) == "english"


@pytest.mark.parametrize(("n", "stem"), [(19, "english"), (20, "none")])
def test_a_language_has_a_twentieth_of_the_texts(run, file, n, stem):
    texts = [ENGLISH, *["house garden"] * n]
    assert Vectorizer().fit(texts).options_.stem == stem
    path = file("".join(json.dumps({"text": text}) + "\n" for text in texts), "a.jsonl")
    assert run.json("vectorize", path, "-o", path.with_suffix(".svm"))["stem"] == stem


def test_each_text_has_its_own_stems():
    texts = [ENGLISH, GERMAN, "houses", TextIn.of("Häuser Gärten", "de"), TextIn.of("houses", "pl")]
    both = Vectorizer(stem="english,german", ngrams=(1, 1), min_df=1).fit(texts)
    alone = {
        language: Vectorizer(stem=language, ngrams=(1, 1), min_df=1).fit([text]).features_
        for language, text in (("english", ENGLISH), ("german", GERMAN))
    }
    # Without a language of its own, the first one; in one without stems, none.
    assert set(both.features_) == {*alone["english"], *alone["german"], "houses"}
    assert both.transform(["houses"]).nnz == 1
    assert both.features_[both.transform([TextIn.of("Häuser", "de")]).indices[0]] == "haus"


@pytest.mark.parametrize("language", LANGUAGES)
def test_compiled_stems_are_those_of_python(language):
    compiled = pytest.importorskip("Stemmer").Stemmer(language)
    in_python = import_module(f"snowballstemmer.{language}_stemmer")
    stemmer = getattr(in_python, f"{language.capitalize()}Stemmer")()
    words = {word for text in GREETINGS.values() for word in text.lower().split()} | {"economies", "nationalisations"}
    endings = "s", "en", "ung", "ement", "mente", "ización", "ами", "heten"
    words |= {word + ending for word in words for ending in endings}
    assert {word: compiled.stemWord(word) for word in words} == {word: stemmer.stemWord(word) for word in words}


def test_languages_are_chosen_from_all_texts_wherever_they_stand():
    texts = [ENGLISH] * 1900 + [GERMAN] * 101
    assert Vectorizer().fit(texts).options_.stem == "english,german"
    assert Vectorizer().fit(texts[:1990]).options_.stem == "english"


def test_texts_of_unclear_language_are_not_stemmed_like_the_few_clear_ones():
    texts = ["gue suka makan nasi"] * 1900 + ["makan di warung non stop"] * 60 + [ENGLISH] * 40
    assert set(map(language_of, texts)) == {None, "italian", "english"}
    assert Vectorizer().fit(texts).options_.stem == "none"


@pytest.fixture
def books(run, tmp_path):
    def make(*options):
        texts = ((ENGLISH, "Gardens"), (GERMAN, "Stadt"))  # sorted by language, as a catalogue may be
        rows = [{"text": f"{text} {i}", "tags": [tag]} for text, tag in texts for i in range(40)]
        (tmp_path / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        return run.json("vectorize", tmp_path / "b.jsonl", "-o", tmp_path / "b.svm", *options)

    return make


@pytest.mark.parametrize("options", [(), ("--stem", "english,german")])
def test_the_report_says_how_many_of_each(run, books, tmp_path, options):
    report = books(*options)
    assert sorted(report["stem"].split(",")) == ["english", "german"]
    assert report["languages"] == {"english": 40, "german": 40}
    features = (tmp_path / "b.text" / "features").read_text().split("\n")
    assert {"hous", "haus", "garden", "gart"} <= {*features}


def test_names_of_a_thesaurus_are_stemmed_by_their_language(run, books, tmp_path):
    lines = "uri,label_en,label_de", "https://e.org/1,Gardens,Gärten", "https://e.org/2,City,Stadt", ""
    (tmp_path / "t.csv").write_text("\n".join(lines))
    assert books("--labels", tmp_path / "t.csv", "--language", "en,de", "--ngrams", "1-1")["labels"] == 2
    names = (tmp_path / "b.text" / "labels").read_text().splitlines()
    assert names == ["Gardens\tGärten\thttps://e.org/1", "City\tStadt\thttps://e.org/2"]
    features = (tmp_path / "b.text" / "features").read_text().split("\n")
    vectors = (tmp_path / "b.text" / "label-features.svm").read_text().splitlines()
    words = [{features[int(entry.split(":")[0]) - 1] for entry in line.split()[1:]} for line in vectors]
    assert words == [{"garden", "gart"}, {"citi", "stadt"}]
    run("train", tmp_path / "b.svm", "-o", tmp_path / "m", "--prior", 20, "--levels", 1, "--cost", 10, "-q")
    (learned,) = run.json("info", tmp_path / "m", "--label", "Gardens")["of_labels"]
    assert {feature["name"] for feature in learned["features_for"][:2]} == {"garden", "gart"}


def test_a_language_that_the_model_has_not_seen_is_a_warning(run, books, tmp_path):
    books()
    data = tmp_path / "b.svm"
    run.ok("train", data, "--c", 0.9, "--cost", 30, "--epochs", 2, "--folds", 2, "-q")
    french = "la maison et le jardin de la ville sont dans le pays"
    (tmp_path / "new.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in (ENGLISH, french)))
    for form in ("labels", "jsonl"):
        result = run.ok("predict", tmp_path / "b.mpu", tmp_path / "new.jsonl", "--format", form)
        assert "1 of 2 texts in other languages than those of the stems, english, german: french 1" in result.stderr
    result = run("vectorize", tmp_path / "new.jsonl", "--like", data, "-o", tmp_path / "n.svm")
    assert "french 1" in result.stderr
    assert "other languages" not in run("predict", tmp_path / "b.mpu", "--text", GERMAN).stderr
