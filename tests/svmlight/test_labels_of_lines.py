import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpu_cli.svmlight.reader import parse_block
from mpu_cli.svmlight.writer import find_labels, with_labels
from tests.hypotheses import examples

line_tails = st.sampled_from(
    ["", " 1:0.5", "\t1:0.5  7:1 ", "#", " # 1,2 3:4", "#a,b", " 3:1#,", "\r", " 3:1\r", "#\r", "  "]
)
label_parts = st.lists(st.integers(0, 200), max_size=4, unique=True).map(lambda labels: ",".join(map(str, labels)))
plain_lines = st.tuples(label_parts, line_tails).map("".join)
other_lines = st.sampled_from(["# 1,2,3", "#", "3:1 4:5", ""])
texts = st.lists(st.one_of(plain_lines, other_lines), max_size=6).map("\n".join)
block_texts = st.tuples(texts, st.sampled_from(["", "\n"])).map("".join).map(str.encode)


def label_sets(block: bytes) -> list[list[int]]:
    return [row.indices.tolist() for row in parse_block(block, 1, "file").labels]


@given(block_texts)
@settings(max_examples=examples(200), deadline=None)
def test_the_labels_found_are_those_parsed(block):
    assert [sorted(labels) for labels in find_labels(block)] == label_sets(block)


@given(block_texts, st.data())
@settings(max_examples=examples(200), deadline=None)
def test_other_labels_are_read_back_and_every_other_byte_stays(block, data):
    lists = data.draw(st.lists(st.sets(st.integers(0, 9)), min_size=(n := len(find_labels(block))), max_size=n))
    after = with_labels(block, [[b"%d" % label for label in labels] for labels in lists])
    assert label_sets(after) == list(map(sorted, lists))
    before, later = parse_block(block, 1, "file").features, parse_block(after, 1, "file").features
    assert before.indices.tolist() == later.indices.tolist()


@pytest.mark.parametrize(
    ("block", "labels", "expected"),
    [
        (b"1,22,3 4:1\r\n", ["22,3"], b"22,3 4:1\r\n"),
        (b"1,22,3 4:1\r\n", [""], b" 4:1\r\n"),
        (b"1,22\t 4:1.500 # 7,8\n# 9,9\n 5:1\n33\n", ["1", "", ""], b"1\t 4:1.500 # 7,8\n# 9,9\n 5:1\n\n"),
        (b"12#x\n", [""], b" #x\n"),
        (b"12 #x\n", [""], b" #x\n"),
        (b"1 2:3\n45", ["1", ""], b"1 2:3\n "),
        (b"1 2:3\n45", ["", "45"], b" 2:3\n45"),
        (b"", [], b""),
        (b"3,4\t1:1", ["3,4,7"], b"3,4,7\t1:1"),
        (b" 1:1\n", ["7,8"], b"7,8 1:1\n"),
        (b"1:1\n", ["7,8"], b"7,8 1:1\n"),
        (b"\n", ["7"], b"7\n"),
        (b"\r\n", ["7"], b"7\r\n"),
        (b" # 1,2\n", ["7"], b"7 # 1,2\n"),
        (b"3#c\n", ["3,7"], b"3,7#c\n"),
    ],
)
def test_lines_with_other_labels(block, labels, expected):
    assert with_labels(block, [text.encode().split(b",") if text else [] for text in labels]) == expected
