"""A vectoriser as one piece."""

import json

import numpy as np
import pytest

from mpu_cli.errors import InputError
from mpu_cli.text import stored
from mpu_cli.text.stored import packed, unpacked
from mpu_cli.text.vectorizer import Vectorizer
from tests.golden import refused

TEXTS = ["digital television and radio", "radio waves"]


@pytest.fixture(params=[{}, {"hashing": 10}, {"analyzer": "char"}])
def vectorizer(request):
    return Vectorizer(**request.param).fit(TEXTS)


@pytest.fixture
def data(vectorizer, tmp_path):
    vectorizer.save(tmp_path / "kept")
    return packed(stored.load(tmp_path / "kept"))


def test_it_comes_back(vectorizer, data):
    again = Vectorizer.of(unpacked(data, "model"))
    assert again.features_ == vectorizer.features_
    assert (again.transform(TEXTS) != vectorizer.transform(TEXTS)).nnz == 0


def test_cut_anywhere_it_is_an_error(data):
    for length in [*range(0, len(data), max(1, len(data) // 50)), len(data) - 1]:
        with pytest.raises(InputError, match=r"^model: "):
            unpacked(data[:length], "model")


@pytest.mark.parametrize("idf", [1e39, 3e38, 0.5, -1, np.nan])
def test_numbers_that_no_texts_give(data, idf):
    """Those of 1e39 are finite in 64 bits, and not in 32."""
    header, _, rest = data.partition(b"\n")
    with refused(InputError):
        unpacked(header + b"\n" + np.float64(idf).tobytes() + rest[8:], "model")


@pytest.mark.parametrize("change", [{"format_version": 9}, {"features": 10**9}, {"features": 3}, {"options": {}}])
def test_a_header_that_does_not_fit(data, change):
    header, _, rest = data.partition(b"\n")
    with pytest.raises(InputError):
        unpacked(json.dumps(json.loads(header) | change).encode() + b"\n" + rest, "model")
