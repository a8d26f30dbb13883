from collections.abc import Sequence
from io import BytesIO

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from mpu_cli.svmlight.reader import Dataset, parse_block
from mpu_cli.svmlight.streams import Measured
from mpu_cli.svmlight.writer import LabelledLines, labelled_lines, score_lines, write_instances
from tests.hypotheses import examples
from tests.svmlight.reference import assert_same

values = st.floats(width=32, allow_nan=False, allow_infinity=False)
instances = st.lists(
    st.tuples(st.sets(st.integers(0, 50), max_size=4), st.dictionaries(st.integers(0, 2**31 - 2), values, max_size=4)),
    min_size=1,
    max_size=5,
)


def dataset(rows) -> Dataset:
    labels, features = zip(*rows, strict=True)
    return Dataset(csr([dict.fromkeys(row, True) for row in labels], bool), csr(features, np.float32))


def csr(rows: Sequence[dict[int, float]], dtype) -> csr_array:
    columns = [column for row in rows for column in sorted(row)]
    values = [row[column] for row in rows for column in sorted(row)]
    indptr, shape = np.cumsum([0, *map(len, rows)]).astype(np.int32), (len(rows), max(columns, default=-1) + 1)
    return csr_array((np.array(values, dtype), np.array(columns, np.int32), indptr), shape=shape)


@given(instances)
@settings(max_examples=examples(200), deadline=None)
def test_instances_read_back_equal(rows):
    written = BytesIO()
    write_instances(written, dataset(rows))
    assert_same(parse_block(written.getvalue(), 1, "file"), dataset(rows))


def test_instance_lines():
    written = BytesIO()
    write_instances(written, dataset([({3, 1}, {2: 0.1, 7: 1}), (set(), {4: -2.5e-10}), ({5}, {}), (set(), {})]))
    assert written.getvalue() == b"1,3 2:0.1 7:1\n 4:-2.5e-10\n5 \n \n"


def test_scores_bring_back_the_same_float32():
    probabilities = np.random.default_rng(0).random(2000, np.float32)
    line = score_lines(np.array([0, 2000]), np.arange(2000), probabilities)
    read = np.array([float(pair.partition(b":")[2]) for pair in line.split()], np.float32)
    assert np.array_equal(read, probabilities)


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


def lines_of(block: bytes) -> LabelledLines:
    measured = Measured(BytesIO())
    measured.write(block)
    [lines] = labelled_lines(BytesIO(block), "file", measured.measure())
    return lines


@given(block_texts.filter(bool), st.data())
@settings(max_examples=examples(200), deadline=None)
def test_labels_are_found_and_others_are_read_back_and_every_other_byte_stays(block, data):
    lines = lines_of(block)
    assert [sorted(labels) for labels in lines.texts] == label_sets(block)
    lists = data.draw(st.lists(st.sets(st.integers(0, 9)), min_size=(n := len(lines.texts)), max_size=n))
    after = lines.written([[b"%d" % label for label in labels] for labels in lists])
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
    assert lines_of(block).written([text.encode().split(b",") if text else [] for text in labels]) == expected
