"""A vectoriser on disk: it comes back the same, and damage is an error that says what to do."""

import json
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpu_cli.errors import InputError
from mpu_cli.runtime.files import checksum
from mpu_cli.text import stored
from mpu_cli.text.vectorizer import Vectorizer
from tests.golden import refused

TEXTS = ["digital television and radio", "the theory of digital numbers", "radio waves"]
KINDS = {
    "words": {},
    "characters": {"analyzer": "char"},
    "hashes": {"hashing": 12},
    "others": {"stem": "german", "weighting": "log-tfidf", "min_df": 1, "max_features": 3, "ngrams": (2, 3)},
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_saved_comes_back(tmp_path, kind):
    vectorizer = Vectorizer(**KINDS[kind]).fit(TEXTS)
    vectorizer.save(tmp_path / "kept")
    again = Vectorizer.load(tmp_path / "kept")
    assert again.options_ == vectorizer.options_
    assert again.features_ == vectorizer.features_
    new = ["a digital wave", "", "television"]
    assert (again.transform(new) != vectorizer.transform(new)).nnz == 0
    again.save(tmp_path / "twice")
    for file in (tmp_path / "kept").iterdir():
        assert (tmp_path / "twice" / file.name).read_bytes() == file.read_bytes()


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1))
def test_any_text_comes_back(tmp_path_factory, texts):
    """Features with blanks at their ends, or with odd characters, are still one line each."""
    folder = tmp_path_factory.mktemp("kept")
    vectorizer = Vectorizer(analyzer="char", ngrams=(1, 3)).fit(["always", *texts])
    vectorizer.save(folder)
    assert Vectorizer.load(folder).features_ == vectorizer.features_


@pytest.fixture
def kept(tmp_path):
    Vectorizer().fit(TEXTS).save(tmp_path / "kept")
    return tmp_path / "kept"


def change(path, **values) -> None:
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps(manifest | values))


def change_inner(path, name, **values) -> None:
    change(path, **{name: json.loads(path.read_text())[name] | values})


CONTENT = {"instances": 3, "labels": 0, "bytes": 9, "sha256": "0" * 64}


DAMAGE = {
    "no manifest": lambda kept: (kept / "manifest.json").unlink(),
    "an empty manifest": lambda kept: (kept / "manifest.json").write_text(""),
    "a manifest of something else": lambda kept: (kept / "manifest.json").write_text('{"format": "mpu model"}'),
    "a list": lambda kept: (kept / "manifest.json").write_text("[" * 100_000),
    "a manifest without end": lambda kept: (kept / "manifest.json").write_bytes(bytes(1 << 21)),
    "a later format": lambda kept: change(kept / "manifest.json", format_version=2),
    "no features": lambda kept: (kept / "features").unlink(),
    "fewer features": lambda kept: (kept / "features").write_text("digital\n"),
    "more features": lambda kept: change(kept / "manifest.json", features=10**9),
    "features that are no number": lambda kept: change(kept / "manifest.json", features=True),
    "idf cut short": lambda kept: (kept / "idf.npy").write_bytes((kept / "idf.npy").read_bytes()[:-4]),
    "another idf": lambda kept: np.save(kept / "idf.npy", np.zeros(3)),
    "an idf of objects": lambda kept: np.save(kept / "idf.npy", np.array([{}]), allow_pickle=True),
    "an unknown analyzer": lambda kept: change_inner(kept / "manifest.json", "options", analyzer="eval"),
    "n-grams without end": lambda kept: change_inner(kept / "manifest.json", "options", ngrams=[1, 10**9]),
    "options that are none": lambda kept: change(kept / "manifest.json", options=[]),
    "fields that are none": lambda kept: change(kept / "manifest.json", fields={"text": 1}),
    "no text field": lambda kept: change_inner(kept / "manifest.json", "fields", text=[]),
    "text fields that are one text": lambda kept: change_inner(kept / "manifest.json", "fields", text="text"),
    "nothing between tags": lambda kept: change_inner(kept / "manifest.json", "fields", separator=""),
    "labels as text": lambda kept: change(kept / "manifest.json", content=CONTENT | {"labels": "7"}),
    "a truth for a number": lambda kept: change(kept / "manifest.json", content=CONTENT | {"instances": True}),
    "fewer than no bytes": lambda kept: change(kept / "manifest.json", content=CONTENT | {"bytes": -1}),
    "half of a checksum": lambda kept: change(kept / "manifest.json", content=CONTENT | {"sha256": "0" * 32}),
    "no checksum of the data": lambda kept: change(kept / "manifest.json", content=CONTENT | {"sha256": None}),
    "more than the content": lambda kept: change(kept / "manifest.json", content=CONTENT | {"more": 1}),
    "a list for the content": lambda kept: change(kept / "manifest.json", content=[]),
    "content that is none": lambda kept: change(kept / "manifest.json", content={"x": 1}),
    "no checksums": lambda kept: change(kept / "manifest.json", checksums={}),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_an_error_that_says_what_to_do(kept, name):
    DAMAGE[name](kept)
    with refused(InputError) as error:
        Vectorizer.load(kept)
    assert name == "a later format" or "mpu vectorize" in str(error.value)


@pytest.mark.parametrize("with_checksum", [False, True])
@pytest.mark.parametrize(
    "array",
    [
        np.zeros(5),
        np.full(5, np.nan),
        np.ones(6),
        np.ones(5, np.float32),
        np.full(5, 1e39),  # finite in 64 bits alone
        np.full(5, 3e38),  # and where a word is there twice
        np.full(5, 1e-50),
    ],
)
def test_numbers_that_cannot_be(tmp_path, array, with_checksum):
    """Also where somebody has made the checksum fit."""
    kept = tmp_path / "kept"
    Vectorizer(ngrams=(1, 1), stem="none").fit(["aa bb cc dd ee"]).save(kept)
    np.save(kept / "idf.npy", array)
    if with_checksum:
        sums = json.loads((kept / "manifest.json").read_text())["checksums"]
        change(kept / "manifest.json", checksums=sums | {"idf.npy": checksum(kept / "idf.npy")})
    with refused(InputError):
        Vectorizer.load(kept)


def test_a_header_that_does_not_close_its_brackets(kept):
    """NumPy parses it as Python."""
    (kept / "idf.npy").write_bytes(b"\x93NUMPY\1\0" + b"\x96\0" + b"(" * 150)
    sums = json.loads((kept / "manifest.json").read_text())["checksums"]
    change(kept / "manifest.json", checksums=sums | {"idf.npy": checksum(kept / "idf.npy")})
    with refused(InputError):
        Vectorizer.load(kept)


@pytest.mark.parametrize("name", ["manifest.json", "features", "idf.npy"])
def test_a_pipe_is_not_waited_for(kept, name):
    (kept / name).unlink()
    os.mkfifo(kept / name)
    with refused(InputError):
        Vectorizer.load(kept)


def test_content_is_optional_and_comes_back(kept):
    change(kept / "manifest.json", content=CONTENT)
    assert stored.load(kept).content == stored.Content(**CONTENT)
