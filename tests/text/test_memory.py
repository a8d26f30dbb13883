"""Memory is bounded by what occurs: by different terms, and by what is put together, not by what could be."""

import resource
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpu_cli.text import analyzer, stored
from mpu_cli.text.analyzer import TextOptions, analyzer_of, batches, term_counts
from mpu_cli.text.stored import packed, unpacked
from mpu_cli.text.vectorizer import Vectorizer
from tests.memory import peak_below
from tests.slow import slow


@contextmanager
def room(size: int) -> Iterator[None]:
    """Let this process have so many bytes of addresses more, also in libraries."""
    limits = resource.getrlimit(resource.RLIMIT_AS)
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


@given(st.lists(st.integers(0, 50)), st.integers(1, 5))
def test_batches_are_bounded_by_characters_and_by_count(sizes, most):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(analyzer, "MOST_CHARACTERS", 60)
        patch.setattr(analyzer, "MOST_TEXTS", most)
        found = list(batches(["x" * size for size in sizes]))
    assert [len(text) for batch in found for text in batch] == sizes
    assert all(len(batch) <= most and sum(map(len, batch[:-1])) < 60 for batch in found)
    followed = pairwise(found)
    assert all(len(batch) == most or sum(map(len, batch)) >= 60 for batch, _ in followed)  # none is cut for nothing


@pytest.mark.parametrize("options", [{}, {"hashing": 10}])
def test_fitting_holds_few_long_texts(options):
    """A thousand of them took 3.3 GB."""
    texts = ("a law " + "x" * (1 << 19) for _ in range(64))  # 32 MiB; 8 of them are a batch
    with peak_below(16 << 20):
        Vectorizer(stem="none", ngrams=(1, 1), **options).fit(texts)


def test_long_words_are_not_stemmed_nor_kept():
    """Snowball took 0.7 s for 100,000 times the letter y, and four times that for twice as many."""
    analyze = analyzer_of(TextOptions(stem="english", ngrams=(1, 1), lead=0))
    assert list(analyze("running " + "running" * 30)) == ["run", "running" * 30]
    tracemalloc.start()
    for i in range(100):
        assert len(list(analyze(f"w{i}" + "y" * 100_000))) == 1
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert kept < 1 << 20


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"analyzer": "char"}, "abcd" * 4000),
        ({"ngrams": (1, 10), "stem": "none"}, "ab cd ef " * 2000),
        ({"ngrams": (1, 10), "stem": "none", "hashing": 16}, "ab cd ef " * 2000),
        *slow(({"analyzer": "char", "ngrams": (1, 10), "hashing": 16}, "abcd" * 2000)),
    ],
)
def test_ngrams_of_a_long_text_are_taken_one_by_one(options, text):
    """All at once, those of a word of 3 MB took 1.7 GB."""
    Vectorizer(**options).fit([text[:1000]])  # what stays of the first
    with peak_below(2 << 20):
        Vectorizer(**options).fit([text]).transform([text])


def test_rare_terms_are_forgotten_where_there_are_too_many_or_long_ones(monkeypatch):
    monkeypatch.setattr(analyzer, "MOST_TERM_CHARACTERS", 10_000)
    monkeypatch.setattr(analyzer, "MOST_TERMS", 100)
    for length, n, most in ((994, 100, 10), (1, 1000, 101)):
        counts, _, dropped = term_counts((f"often {i:06d}{'x' * length}" for i in range(n)), str.split)
        assert counts["often"] == n
        assert len(counts) <= most
        assert dropped > 0.8 * n


@pytest.mark.parametrize("bits", [24, 30])
def test_hashes_take_no_room_where_they_do_not_occur(tmp_path, bits):
    """2^28 of them took 4.3 GB for one record, and 2 GB on disk."""
    with room(1 << 30), peak_below(200 << 20):
        fitted = Vectorizer(hashing=bits, stem="none").fit(["digital television", "digital radio"])
        assert fitted.transform(["digital waves"]).shape == (1, 2**bits)
        assert fitted.transform_names([("digital", "radio"), ()]).shape == (2, 2**bits)
        fitted.save(tmp_path / "kept")
        again = Vectorizer.of(unpacked(packed(stored.load(tmp_path / "kept")), "model"))
        assert (again.transform(["digital waves"]) != fitted.transform(["digital waves"])).nnz == 0
    assert sum(file.stat().st_size for file in (tmp_path / "kept").iterdir()) < 10_000
