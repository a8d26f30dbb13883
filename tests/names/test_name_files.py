"""Files of names, and where they are found."""

import gzip
import logging
import os

import numpy as np
import pytest

from mpu_cli.names.naming import Naming, read_ids, read_names

LABELS = np.array([1, 2, 3])


FORMS = {
    "a line for each": ("news\nsport\n\n", {1: ("news",), 2: ("sport",), 3: ()}),
    "no line end, blanks, CRLF": (" news\r\nsport ", {1: ("news",), 2: ("sport",)}),
    "a byte order mark": ("\ufeffnews\r\n", {1: ("news",)}),
    "further names": ("news\tthe news\t\tnews\nsport\n", {1: ("news", "the news"), 2: ("sport",)}),
    "numbers": ("7\tsport\tgames\n\n0\tnews\n3\t\n", {7: ("sport", "games"), 0: ("news",), 3: ()}),
    "numbers and nothing else": ("2005\n2006\n", {1: ("2005",), 2: ("2006",)}),
    "notations": ("A\t330\nB\t340\n", {1: ("A", "330"), 2: ("B", "340")}),
    "numbered ratios": ("1\tB\n2\t16:9\n", {1: ("B",), 2: ("16:9",)}),
    "years with URIs": ("<urn:a>\tBC\n<urn:b>\t2005\n", {1: ("BC", "urn:a"), 2: ("2005", "urn:b")}),
    "no name at all": ("\t\n\t\n\tb\n", {1: (), 2: (), 3: ()}),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms(file, form):
    text, expected = FORMS[form]
    assert read_names(file(text))[0] == expected
    assert read_names(file(gzip.compress(text.encode()), "tags.gz"))[0] == expected


def names_of(path, labels=LABELS, **how):
    return Naming(path, **how).names_of(np.array(labels), "news.svm").by_number


def test_labels_count_from_one_or_from_zero(file):
    path = file("a\nb\nc\n")
    assert (names_of(path)[1], names_of(path, [0, 2])[0]) == (("a",), ("a",))
    assert names_of(path, [1, 2], zero_based=True)[0] == ("a",)
    assert names_of(file("0\ta\n1\tb\n"), [1])[0] == ("a",)  # numbers are those of the data


@pytest.mark.parametrize("labels, said", [([1, 2, 3], "bases"), ([3, 4, 5], "bases"), ([2, 3], ""), ([2, 3, 4, 5], "")])
def test_doubtful_names_are_warned_of(file, caplog, labels, said):
    names_of(file("2\ta\n3\tb\n4\tc\n"), labels)
    assert said in caplog.text and bool(said) == bool(caplog.text)
    names_of(file("cat\ndog\ncat\ndog\ncat\n"), labels)
    assert "5 lines have only 2 different names: is this a line for each instance?" in caplog.text


def test_a_label_without_name_whose_number_is_a_name_keeps_its_number(file):
    names = Naming(file("1\t3\n2\tb\n")).names_of(LABELS, "news.svm")
    assert [names.written(label) for label in LABELS.tolist()] == ["3 (1)", "b", "3"]
    assert ([names.number(text) for text in ("3 (1)", "b", "3")], names.shown(1)) == ([1, 2, 3], "3 (1)")


def test_names_beside_the_data(file, tmp_path, caplog):
    caplog.set_level(logging.INFO)
    data = file("1 1:1\n", "news.svm.gz")
    assert not Naming().names_of(LABELS, data)
    other = file("a\nb\nc\n", "news.labels")
    assert Naming().names_of(LABELS, data).source == str(other)
    kept = file("d\ne\n\n", "news.text/labels")
    assert Naming().names_of(LABELS, data).name(1) == "d"
    assert Naming(other).names_of(LABELS, data).name(1) == "a"
    assert caplog.messages == [f"{other} names 3 of 3 labels", f"{kept} names 2 of 3 labels"]
    assert not Naming().names_of(LABELS, "-")


def test_names_of_the_training_file_of_a_set(file):
    data, test = file("1 1:1\n", "news-train.svm.gz"), file("1 1:1\n", "news-test.svm.gz")
    shared = file("a\nb\nc\n", "news.labels")
    assert Naming().names_of(LABELS, data).source == str(shared)
    assert not Naming().names_of(LABELS, test)
    own = file("d\ne\nf\n", "news-train.labels")
    assert Naming().names_of(LABELS, data).source == str(own)


def test_names_that_vectorize_keeps_may_begin_with_a_number(file):
    file("2005\tMMV\nnews\n", "news.text/labels")
    names = Naming().names_of(np.array([1, 2]), file("1 1:1\n", "news.svm"))
    assert names.by_number == {1: ("2005", "MMV"), 2: ("news",)}


@pytest.mark.parametrize("text", ["3,7\n\n2\n", "1:0.5 2:1e-3\n", "1 0.4\n2 0.5\n", ""])
def test_predictions_beside_the_data_are_not_taken_for_names(file, text):
    file(text, "news.labels")
    assert not Naming().names_of(LABELS, file("1 1:1\n", "news.svm"))


def test_nothing_lies_beside_a_pipe(file, tmp_path):
    file("news\nsport\npolitics\n", "news.labels")
    file("doc 1\n", "news.text/ids")
    os.mkfifo(tmp_path / "news.svm")
    assert not Naming().names_of(LABELS, tmp_path / "news.svm") and read_ids(tmp_path / "news.svm") is None
