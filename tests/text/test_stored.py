"""A vectoriser on disk: it comes back the same, and damage is an error that says what to do."""

import json
import os
from functools import partial

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
    "others": {"stem": "german", "min_df": 1, "max_features": 3, "ngrams": (2, 3)},
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_saved_comes_back(tmp_path, kind):
    vectorizer = Vectorizer(**KINDS[kind]).fit(TEXTS)
    vectorizer.save(tmp_path / "kept")
    again = Vectorizer.load(tmp_path / "kept")
    assert (again.options_, again.features_) == (vectorizer.options_, vectorizer.features_)
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
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def change_inner(path, name, **values) -> None:
    change(path, **{name: json.loads(path.read_text())[name] | values})


def put_pipe(kept, name) -> None:
    """It is not waited for."""
    (kept / name).unlink()
    os.mkfifo(kept / name)


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
    "idf cut short": lambda kept: (kept / "idf.bin").write_bytes((kept / "idf.bin").read_bytes()[:-4]),
    "an unknown analyzer": lambda kept: change_inner(kept / "manifest.json", "options", analyzer="eval"),
    "n-grams without end": lambda kept: change_inner(kept / "manifest.json", "options", ngrams=[1, 10**9]),
    "options that are none": lambda kept: change(kept / "manifest.json", options=[]),
    "fields that are none": lambda kept: change(kept / "manifest.json", fields={"text": 1}),
    "no text field": lambda kept: change_inner(kept / "manifest.json", "fields", text=[]),
    "nothing between tags": lambda kept: change_inner(kept / "manifest.json", "fields", separator=""),
    "labels as text": lambda kept: change(kept / "manifest.json", content=CONTENT | {"labels": "7"}),
    "no checksum of the data": lambda kept: change(kept / "manifest.json", content=CONTENT | {"sha256": None}),
    "content that is none": lambda kept: change(kept / "manifest.json", content={"x": 1}),
    **{f"a pipe as {name}": partial(put_pipe, name=name) for name in ("manifest.json", "features", "idf.bin")},
    "no checksums": lambda kept: change(kept / "manifest.json", checksums={}),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_an_error_that_says_what_to_do(kept, name):
    DAMAGE[name](kept)
    with refused(InputError) as error:
        Vectorizer.load(kept)
    assert name == "a later format" or "mpu vectorize" in str(error.value)


IMPOSSIBLE = [1e39, 3e38, 0.5, -1, np.nan]  # 1e39 is finite in 64 bits alone
IDF = [np.ones(6), np.ones(5, np.float32), *(np.full(5, value) for value in IMPOSSIBLE)]
HASHES = [[1, 1, 2, 3, 4], [2, 1, 3, 4, 5], [-1, 1, 2, 3, 4], [1, 2, 3, 4, 256], [1, 2, 3, 4], [1, 2, 3, 4, 5, 6]]


@pytest.mark.parametrize(
    ("hashing", "name", "numbers"),
    [*((None, "idf.bin", idf) for idf in IDF), *((8, "hashes.bin", np.array(row, "<i4")) for row in HASHES)],
)
def test_numbers_that_cannot_be(tmp_path, hashing, name, numbers):
    """Also where somebody has made the checksum fit."""
    kept = tmp_path / "kept"
    Vectorizer(ngrams=(1, 1), stem="none", hashing=hashing).fit(["aa bb cc dd ee"]).save(kept)
    (kept / name).write_bytes(numbers.tobytes())
    with refused(InputError):
        Vectorizer.load(kept)
    change_inner(kept / "manifest.json", "checksums", **{name: checksum(kept / name)})
    with refused(InputError):
        Vectorizer.load(kept)


# A vectoriser as one piece.


@pytest.mark.parametrize("kind", ["words", "hashes"])
def test_one_piece_comes_back_and_is_an_error_where_it_is_cut(kind):
    vectorizer = Vectorizer(**KINDS[kind]).fit(TEXTS)
    data = stored.packed(vectorizer.stored())
    again = Vectorizer.of(stored.unpacked(data, "model"))
    assert again.features_ == vectorizer.features_
    assert (again.transform(TEXTS) != vectorizer.transform(TEXTS)).nnz == 0
    for length in [*range(0, len(data), max(1, len(data) // 50)), len(data) - 1]:
        with pytest.raises(InputError, match=r"^model: "):
            stored.unpacked(data[:length], "model")


@pytest.mark.parametrize("change", [{"format_version": 9}, {"features": 10**9}, {"features": 3}, {"options": {}}])
def test_a_header_that_does_not_fit_the_piece(change):
    header, _, rest = stored.packed(Vectorizer().fit(TEXTS).stored()).partition(b"\n")
    with pytest.raises(InputError):
        stored.unpacked(json.dumps(json.loads(header) | change).encode() + b"\n" + rest, "model")
