import bz2
import os

import pytest

from mpu_cli.errors import InputError
from mpu_cli.inputs.side_tables import frequencies_of_file
from mpu_cli.names.label_names import LabelNames
from mpu_cli.names.lines import text_lines
from mpu_cli.names.naming import read_implications, read_names
from mpu_cli.review.decisions import read_lines
from tests.golden import refused

# Whoever reads a small text file of strangers.
READERS = {
    "names": read_names,
    "frequencies": frequencies_of_file,
    "implications": read_implications,
    "reviews": read_lines,
}


@pytest.mark.parametrize("reader", READERS)
def test_utf_16_is_read(file, reader):
    def outcome(encoding: str) -> str:
        try:
            return repr(READERS[reader](file("1 0.5\n".encode(encoding))))
        except InputError as error:
            return str(error)

    assert outcome("utf-16") == outcome("utf-8")


@pytest.mark.parametrize("reader", READERS)
def test_what_has_no_line_ends_does_not_fill_the_memory(reader, file):
    """The error comes after the longest line."""
    zeros = file(b"")
    os.truncate(zeros, 1 << 33)
    with refused(InputError, "small.txt:1: "):
        READERS[reader](zeros)


def test_a_byte_order_mark_and_line_ends_of_other_systems_do_no_harm(file):
    assert read_names(file("a\rb\r"))[0] == read_names(file("a\r\nb\r\n"))[0] == {1: ("a",), 2: ("b",)}
    assert frequencies_of_file(file(b"\xef\xbb\xbf3 0.5\r\n4 1\r\n"))[0] == {3: 0.5, 4: 1}
    assert list(text_lines(file(b"\xef\xbb\xbf\xef\xbb\xbfa\r\nb"))) == ["\ufeffa", "b"]


def test_a_name_in_a_rule_may_begin_like_a_comment(file):
    names = LabelNames.of({1: ["#c"], 2: ["b"], 3: ["#f"]})
    rules = read_implications(file("# a\tb\n#c\tb\t# c\nb\t#f\n"), names)
    assert [set(rules.broader(label)) for label in (1, 2, 3)] == [{2, 3}, {3}, set()]


def test_little_compressed_data_do_not_fill_the_memory(tmp_path):
    path = tmp_path / "small.bz2"
    with bz2.open(path, "wb") as out:
        for _ in range(20):
            out.write((b" " * 1023 + b"\n") * (1 << 10))
    assert path.stat().st_size < 2000
    with refused(InputError, "small.bz2: "):
        read_names(path)
