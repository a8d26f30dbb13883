"""Texts with tags become a data file, and what is needed to do that again is beside it."""

import gzip
from unicodedata import normalize

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mpu_cli.cli.actions import vectorize as command
from mpu_cli.cli.actions.vectorize import vectorize
from mpu_cli.errors import CONTROL, InputError
from mpu_cli.inputs.side_tables import read_groups
from mpu_cli.names.naming import BESIDE, read_ids
from mpu_cli.svmlight.reader import read
from mpu_cli.text import analyzer
from mpu_cli.text.analyzer import TextOptions
from tests.cli.tables import label_sets, write_records
from tests.golden import refused
from tests.hypotheses import examples
from tests.memory import peak

RECORDS = [
    {"id": "r1", "text": "digital television and radio", "tags": ["Media", "Radio"]},
    {"id": "r2", "text": "the theory of numbers", "tags": ["Mathematics"]},
    {"id": "r3", "text": "radio waves", "tags": ["Radio"]},
    {"id": "r4", "text": "", "tags": []},
]
NO_STEMS = TextOptions(stem="none")


def lines(path) -> list[str]:
    return path.read_text(encoding="utf-8-sig").split("\n")[:-1]


@pytest.fixture
def source(tmp_path):
    return write_records(tmp_path / "news.jsonl", RECORDS)


@pytest.fixture
def made(source, tmp_path):
    vectorize(source, tmp_path / "news.svm", options=NO_STEMS)
    return tmp_path / "news.svm"


def test_the_first_feature_is_1_and_vectors_of_texts_and_names_have_unit_length(made):
    features = read(made).features
    assert not features[:, [0]].nnz
    assert features.shape[1] == len(lines(made.with_name("news.text") / "features")) + 1
    np.testing.assert_allclose(features.power(2).sum(axis=1), [1, 1, 1, 0], rtol=1e-6)
    folder = made.with_name("news.text")
    names = lines(folder / "features")
    vectors = read(folder / "label-features.svm")
    assert [set(row.indices.tolist()) for row in vectors.labels] == [{1}, {2}, {3}]
    assert [[names[j - 1] for j in row.indices] for row in vectors.features] == [["radio"], ["mathematics"], ["media"]]
    np.testing.assert_allclose(vectors.features.power(2).sum(axis=1), 1, rtol=1e-6)


def test_labels_are_numbered_from_1_the_frequent_ones_first(made):
    assert lines(made.with_name("news.text") / "labels") == ["Radio", "Mathematics", "Media"]
    assert label_sets(made) == [{1, 3}, {2}, {1}, set()]
    assert lines(made.with_name("news.text") / "ids") == ["r1", "r2", "r3", "r4"]


def test_it_is_the_same_bytes_again_compressed_or_not(source, made, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "news.jsonl.gz").write_bytes(gzip.compress(source.read_bytes()))
    vectorize(tmp_path / "news.jsonl.gz", tmp_path / "other" / "news.svm.gz", options=NO_STEMS)
    assert gzip.decompress((tmp_path / "other" / "news.svm.gz").read_bytes()) == made.read_bytes()
    other = tmp_path / "other" / "news.text"
    manifests = [(path / "manifest.json").read_text() for path in (other, tmp_path / "news.text")]
    assert manifests[0].replace("../news.jsonl.gz", "news.jsonl") == manifests[1]  # where the records are
    for file in {*(tmp_path / "news.text").iterdir()} - {tmp_path / "news.text" / "manifest.json"}:
        assert (other / file.name).read_bytes() == file.read_bytes()


def test_other_texts_like_it(made, tmp_path):
    """The same features and numbers of labels; new tags come after them."""
    new = [{"id": "n1", "text": "Television, again", "tags": ["New", "Media", "Newer"]}, RECORDS[0], {**RECORDS[3]}]
    write_records(tmp_path / "new.jsonl", new)
    report = vectorize(tmp_path / "new.jsonl", tmp_path / "new.svm", like=made)
    old, data = read(made), read(tmp_path / "new.svm")
    assert label_sets(tmp_path / "new.svm") == [{3, 4, 5}, {1, 3}, set()]
    first = old.features[[0], : data.features.shape[1]]
    np.testing.assert_array_equal(data.features[[1]].toarray(), first.toarray())
    assert lines(tmp_path / "new.text" / "labels") == ["Radio", "Mathematics", "Media", "New", "Newer"]
    assert lines(tmp_path / "new.text" / "ids") == ["n1", "r1", "r4"]
    (caution,) = [caution for caution in report["warnings"] if "not among" in caution]
    assert "2 tags" in caution and "'New'" in caution and "from 4 on" in caution
    again = vectorize(tmp_path / "new.jsonl", tmp_path / "third.svm", like=tmp_path / "new.text")
    assert not [caution for caution in again["warnings"] if "not among" in caution]


def test_fields_are_those_of_the_earlier_file(tmp_path):
    (tmp_path / "a.csv").write_text("nr,title,abstract,subjects\n1,radio,waves,A|B\n")
    fields = {"text": ("title", "abstract"), "tags": ("subjects",), "id": "nr", "separator": "|"}
    vectorize(tmp_path / "a.csv", tmp_path / "a.svm", **fields)
    vectorize(tmp_path / "a.csv", tmp_path / "b.svm", like=tmp_path / "a.svm")
    assert (tmp_path / "b.svm").read_bytes() == (tmp_path / "a.svm").read_bytes()
    (tmp_path / "c.tsv").write_text("nr\tname\tsubjects\n1\tradio waves\tB\n")
    vectorize(tmp_path / "c.tsv", tmp_path / "c.svm", text=("name",), like=tmp_path / "a.svm")
    assert label_sets(tmp_path / "c.svm") == [{2}]
    (tmp_path / "d.csv").write_text("title,abstract\nradio,waves\n")
    vectorize(tmp_path / "d.csv", tmp_path / "d.svm", like=tmp_path / "a.svm")
    assert label_sets(tmp_path / "d.svm") == [set()]


def test_labels_by_a_file_of_names(source, tmp_path):
    (tmp_path / "names").write_text("Never\n\nRadio\tWireless\nMedia\nMedia\n")
    write_records(source, [*RECORDS, {"id": "r5", "text": "x", "tags": ["Wireless", "radio"]}])
    report = vectorize(source, tmp_path / "a.svm", labels=tmp_path / "names")
    expected = ["Never", "", "Radio\tWireless", "Media", "", "Mathematics", "radio"]
    assert lines(tmp_path / "a.text" / "labels") == expected
    assert label_sets(tmp_path / "a.svm") == [{3, 4}, {6}, {3}, set(), {3, 7}]
    assert (report["annotations"], report["labels"]) == (6, 5)
    said = "\n".join(report["warnings"])
    assert "2 tags not among" in said and "'Mathematics'" in said and "from 6 on" in said
    assert "1 line" in said and "name of an earlier line" in said
    assert "'Radio' and 'radio'" in said
    assert "never" in lines(tmp_path / "a.text" / "features")


def test_groups_are_kept_as_a_file_for_groups(tmp_path):
    """Names of the groups of instances, in their order: texts, whole numbers or null."""
    groups = ["north", None, 1999, " a\tb "]
    rows = (record | {"source": group} for record, group in zip(RECORDS, groups, strict=True))
    write_records(tmp_path / "news.jsonl", rows)
    report = vectorize(tmp_path / "news.jsonl", tmp_path / "news.svm", group="source", options=NO_STEMS)
    assert lines(tmp_path / "news.text" / "groups") == ["north", "", "1999", "a b"]
    assert any("groups became blanks, in 1 record" in caution for caution in report["warnings"])
    of_instances = read_groups(tmp_path / "news.text" / "groups", 4)
    assert [of_instances.names[g] for g in of_instances.of_instances] == ["north", "", "1999", "a b"]
    vectorize(tmp_path / "news.jsonl", tmp_path / "again.svm", like=tmp_path / "news.svm")
    assert lines(tmp_path / "again.text" / "groups") == lines(tmp_path / "news.text" / "groups")
    write_records(tmp_path / "some.jsonl", [RECORDS[0] | {"source": "north"}, RECORDS[1]])
    vectorize(tmp_path / "some.jsonl", tmp_path / "some.svm", like=tmp_path / "news.svm")
    assert lines(tmp_path / "some.text" / "groups") == ["north", ""]
    write_records(tmp_path / "others.jsonl", RECORDS)
    vectorize(tmp_path / "others.jsonl", tmp_path / "others.svm", like=tmp_path / "news.svm")
    assert not (tmp_path / "others.text" / "groups").exists()
    vectorize(tmp_path / "news.jsonl", tmp_path / "news.svm", options=NO_STEMS)  # over it: without groups
    assert not (tmp_path / "news.text" / "groups").exists()


def test_what_is_odd_is_said(tmp_path):
    records = [
        {"id": "1", "text": "word", "tags": ["Steel", "steel", "New Town", "New  Town"]},
        {"id": "2", "text": " ", "tags": ["a\tb", "歴史", "歴史\u200b", "\ufeff歴史", "İzmir", "izmir"]},
        {"id": "1", "text": "x", "tags": []},
    ]
    write_records(tmp_path / "a.jsonl", records)
    report = vectorize(tmp_path / "a.jsonl", tmp_path / "a.svm")
    assert (report["labels"], report["empty"], report["unknown"]) == (10, 1, 1)
    said = "\n".join(report["warnings"])
    assert "5 pairs of labels that differ only" in said and "became blanks, in 1" in said
    assert "1 record with the id" in said and "1 empty text" in said
    assert lines(tmp_path / "a.text" / "ids") == ["1", "2", "1"]


@pytest.mark.parametrize("edit", [lambda text: text.replace("radio", "vases"), lambda text: text.rstrip("\n")])
def test_a_file_that_is_edited_between_the_two_passes_is_an_error(source, tmp_path, monkeypatch, edit):
    """With as many records as before."""
    fit = command._fit

    def fit_and_edit(*arguments):
        found = fit(*arguments)
        source.write_text(edit(source.read_text()))
        return found

    monkeypatch.setattr(command, "_fit", fit_and_edit)
    with refused(InputError, "news.jsonl: "):
        vectorize(source, tmp_path / "a.svm")
    assert not (tmp_path / "a.svm").exists() and not (tmp_path / "a.text").exists()


@pytest.mark.parametrize("mark", ["\ufeff", "\ufeffx", "\ufeff\ufeff"])
def test_a_byte_order_mark_is_part_of_a_name_and_of_an_id(tmp_path, mark):
    """Also where the file of names, or of ids, begins with it."""
    write_records(tmp_path / "a.jsonl", [{"id": mark, "text": "a word", "tags": [mark]}])
    vectorize(tmp_path / "a.jsonl", tmp_path / "a.svm")
    assert BESIDE.names_of(np.array([1]), tmp_path / "a.svm").by_number == {1: (mark,)}
    assert list(read_ids(tmp_path / "a.svm")) == [mark]
    vectorize(tmp_path / "a.jsonl", tmp_path / "b.svm", like=tmp_path / "a.svm")
    assert (tmp_path / "b.svm").read_bytes() == (tmp_path / "a.svm").read_bytes()
    assert (tmp_path / "b.text" / "labels").read_bytes() == (tmp_path / "a.text" / "labels").read_bytes()


def test_hashed_features_have_no_names(source, tmp_path):
    vectorize(source, tmp_path / "a.svm", options=TextOptions(hashing=10))
    assert not (tmp_path / "a.text" / "features").exists()
    assert read(tmp_path / "a.text" / "label-features.svm").features.nnz == 3
    vectorize(source, tmp_path / "b.svm", like=tmp_path / "a.svm")
    assert (tmp_path / "b.svm").read_bytes() == (tmp_path / "a.svm").read_bytes()


NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(50))
@given(
    st.lists(st.tuples(st.lists(st.sampled_from(["radio", "waves"])), st.lists(NAMES)), min_size=1), st.integers(0, 9)
)
def test_tags_come_back_by_their_names(tmp_path, records, seed):
    """Whatever is in them, in Unicode's NFC; control characters are blanks."""
    write_records(tmp_path / "a.jsonl", ({"text": " ".join(["always", *some]), "tags": tags} for some, tags in records))
    vectorize(tmp_path / "a.jsonl", tmp_path / "a.svm")
    names = lines(tmp_path / "a.text" / "labels")
    expected = [{normalize("NFC", CONTROL.sub(" ", tag).strip()) for tag in tags} - {""} for _, tags in records]
    assert [{names[k - 1] for k in numbers} for numbers in label_sets(tmp_path / "a.svm")] == expected


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(analyzer, "MOST_CHARACTERS", 1 << 14)  # a batch is some forty records
    words = np.array([f"word{i}" for i in range(300)])

    def peak_of(n: int) -> int:
        texts = np.random.default_rng(0).choice(words, (n, 60)).tolist()
        rows = [{"id": f"{i}", "text": " ".join(text), "tags": [f"tag{i % 50}"]} for i, text in enumerate(texts)]
        write_records(tmp_path / "a.jsonl", rows)
        return peak(lambda: vectorize(tmp_path / "a.jsonl", tmp_path / "a.svm", options=TextOptions(ngrams=(1, 1))))

    peak_of(10)  # what is imported stays
    assert peak_of(2000) < 1.3 * peak_of(500)  # each is more batches than are in memory at a time
