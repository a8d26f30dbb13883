import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mpu_cli.svmlight.reader import parse_block
from mpu_cli.svmlight.writer import find_labels, with_labels, without_labels
from tests.hypotheses import examples

line_tails = st.sampled_from(
    ["", " 1:0.5", "\t1:0.5  7:1 ", "#", " # 1,2 3:4", "#a,b", " 3:1#,", "\r", " 3:1\r", "#\r", "  "]
)
label_parts = st.lists(st.integers(0, 200), max_size=4, unique=True).map(lambda labels: ",".join(map(str, labels)))
plain_lines = st.tuples(label_parts, line_tails).map("".join)
other_lines = st.sampled_from(["# 1,2,3", "#", "3:1 4:5", ""])
block_texts = st.tuples(st.lists(st.one_of(plain_lines, other_lines), max_size=6).map("\n".join), st.booleans()).map(
    lambda text_newline: (text_newline[0] + "\n" * text_newline[1]).encode()
)


def label_sets(block: bytes) -> list[list[int]]:
    return [row.indices.tolist() for row in parse_block(block, 1, "file").labels]


def found(block: bytes) -> list[list[int]]:
    spans = find_labels(block)
    labels = [int(block[start:stop]) for start, stop in zip(spans.starts, spans.stops, strict=True)]
    return [sorted(part.tolist()) for part in np.split(np.array(labels, int), np.cumsum(spans.sizes))[:-1]]


@given(block_texts)
@settings(max_examples=examples(200), deadline=None)
def test_the_labels_found_are_those_parsed(block):
    assert found(block) == label_sets(block)


@given(block_texts, st.data())
@example(b"5", None)
@example(b"5#x\n", None)
@settings(max_examples=examples(200), deadline=None)
def test_without_labels(block, data):
    spans = find_labels(block)
    n = len(spans.starts)
    removed = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)) if data else [True] * n, bool)
    after = without_labels(block, spans, removed)

    kept = np.array([int(block[start:stop]) for start, stop in zip(spans.starts, spans.stops, strict=True)], int)
    rows = np.repeat(np.arange(len(spans.sizes)), spans.sizes)
    assert label_sets(after) == [
        sorted(kept[~removed & (rows == row)].tolist()) for row in range(len(label_sets(block)))
    ]
    before, later = parse_block(block, 1, "file").features, parse_block(after, 1, "file").features
    assert before.indices.tolist() == later.indices.tolist()


@pytest.mark.parametrize(
    ("block", "removed", "expected"),
    [
        (b"1,22,3 4:1\r\n", [0], b"22,3 4:1\r\n"),
        (b"1,22,3 4:1\r\n", [1], b"1,3 4:1\r\n"),
        (b"1,22,3 4:1\r\n", [2], b"1,22 4:1\r\n"),
        (b"1,22,3 4:1\r\n", [0, 1], b"3 4:1\r\n"),
        (b"1,22,3 4:1\r\n", [1, 2], b"1 4:1\r\n"),
        (b"1,22,3 4:1\r\n", [0, 1, 2], b" 4:1\r\n"),
        (b"1,22\t 4:1.500 # 7,8\n# 9,9\n 5:1\n33\n", [1, 2], b"1\t 4:1.500 # 7,8\n# 9,9\n 5:1\n\n"),
        (b"12#x\n", [0], b" #x\n"),
        (b"12,3#x\n", [0, 1], b" #x\n"),
        (b"12 #x\n", [0], b" #x\n"),
        (b"1 2:3\n45", [1], b"1 2:3\n "),
        (b"1 2:3\n45", [0], b" 2:3\n45"),
        (b"", [], b""),
    ],
)
def test_every_other_byte_stays(block, removed, expected):
    spans = find_labels(block)
    mask = np.zeros(len(spans.starts), bool)
    mask[removed] = True
    assert without_labels(block, spans, mask) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"3 1:1\n", b"3,7,8 1:1\n"),
        (b"3,4\t1:1", b"3,4,7,8\t1:1"),
        (b" 1:1\n", b"7,8 1:1\n"),
        (b"1:1\n", b"7,8 1:1\n"),
        (b"\n", b"7,8\n"),
        (b"\r\n", b"7,8\r\n"),
        (b" # 1,2\n", b"7,8 # 1,2\n"),
        (b"3#c\n", b"3,7,8#c\n"),
        (b"3", b"3,7,8"),
    ],
)
def test_more_labels(line, expected):
    block = b"1 2:1\n# comment, with one\n" + line
    rows, labels = np.array([1, 1]), np.array([7, 8])
    found = with_labels(block, find_labels(block), rows, labels)
    assert found == b"1 2:1\n# comment, with one\n" + expected
    assert parse_block(found, 1, "").labels[[1], :].indices.tolist()[-2:] == [7, 8]
