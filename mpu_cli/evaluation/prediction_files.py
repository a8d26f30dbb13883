"""Files of predictions: label lists, scores, or both, and thresholds.

The parser of data files also reads predictions. A label list such as ``3,7`` is an instance with labels and no
features. A score list such as ``3:0.91 7:0.5`` is an instance without labels, whose features are label:score. With
both, as in ``3 3:0.91 7:0.5``, the label list has the predicted labels, each of which has a score, and the scores rank.

Scores alone do not say which labels are predicted. So a comment ends the first line of the scores that `mpu predict`
writes: the threshold of the model, ``# threshold 0.31``, or that of each label, ``# thresholds 3:0.31 7:0.5``. A label
is predicted if its score is at least its threshold; one without a threshold is never predicted. No line is added, so
line i is still that of instance i, for every reader that skips comments.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.predictions import over
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.grammar import Reading
from mpu_cli.svmlight.reader import Preamble, iter_stream
from mpu_cli.svmlight.streams import Watched, open_input
from mpu_cli.svmlight.writer import score_lines

_NUMBER = rb"-?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf)"
_ONE = re.compile(rb"# threshold (" + _NUMBER + rb")\s*")
_EACH = re.compile(rb"# thresholds((?: [0-9]{1,10}:" + _NUMBER + rb")+)\s*")


def _choosing(line: bytes) -> Callable[[csr_array], csr_array] | None:
    """Return what chooses labels from scores by the thresholds in the first line of a file; None without any.

    It returns bool, shape (n, Q).
    """
    comment = b"#" + line.partition(b"#")[2]
    if (one := _ONE.fullmatch(comment)) is not None:
        of_all = _of_32_bits([float(one[1])])[0]
        return lambda scores: over(scores, of_all)
    if (each := _EACH.fullmatch(comment)) is None:
        return None
    pairs = sorted((int(label), float(value)) for label, value in (pair.split(b":") for pair in each[1].split()))
    ids, values = np.array([label for label, _ in pairs]), _of_32_bits([value for _, value in pairs])

    def reached(scores: csr_array) -> csr_array:
        place = np.searchsorted(ids, scores.indices).clip(max=len(ids) - 1)
        return over(scores, np.where(ids[place] == scores.indices, values[place], np.float32(np.inf)))

    return reached


def _of_32_bits(values: Sequence[float]) -> np.ndarray:
    with np.errstate(over="ignore"):  # what is beyond becomes infinite
        return np.array(values, np.float32)


def with_thresholds(lines: bytes, ids: np.ndarray, thresholds: np.ndarray) -> bytes:
    """Append the comment with the thresholds to the first line of score lists.

    `lines`: at least one line.
    `ids`: int, shape (q,).
    `thresholds`: float32, shape (q,): written with the fewest digits that give the same float32 when read.
    """
    first, end, others = lines.partition(b"\n")
    same = (thresholds == thresholds[0]).all()
    pairs = score_lines(np.array([0, 1 if same else len(ids)]), ids, thresholds).rstrip()
    comment = b" # threshold " + pairs.partition(b":")[2] if same else b" # thresholds " + pairs
    return first + comment + end + others


def iter_predictions(source: str | Path, reading: Reading, run: Run) -> Iterator[Dataset]:
    """Read predictions in chunks, as `svmlight.reader.iter_chunks` does: label lists as labels, and scores as features.

    Scores with thresholds have label lists too: the labels that reach them.
    """
    begun, first_line = b"", b""  # the file as far as it is read, and its first line below the header

    def keep_first_line(data: bytes) -> None:
        nonlocal begun, first_line
        if not first_line:
            begun += data
            line, end, _ = begun[Preamble().end_in(begun, 1) :].partition(b"\n")
            if end or not data:
                begun, first_line = b"", line + end

    with open_input(source) as stream:
        reached, reading = None, replace(reading, implicit_values=False, scores=True)
        read = Watched(stream, keep_first_line)
        chunks = iter_stream(read, str(source), reading, run=run)
        for number, chunk in enumerate(chunks):
            if number == 0:
                reached = _choosing(first_line)
            yield chunk if reached is None else Dataset(reached(chunk.features), chunk.features)
