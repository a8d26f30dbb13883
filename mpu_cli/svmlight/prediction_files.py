"""Files of predictions: label lists and score lists, with the thresholds of scores.

The parser of data files also reads predictions. A label list such as ``3,7`` is an instance with labels but no
features. A score list such as ``3:0.91 7:0.5`` is an instance without labels, whose features are label:score. If a line
has both, as in ``3 3:0.91 7:0.5``, the label list contains the predicted labels, all scored, and the scores rank.

Scores alone do not determine the predicted labels. So a comment with the thresholds ends the first line of the scores
that `mpu predict` writes (docs/guide/formats.md). A label is predicted if its score is at least its threshold; a label
without a threshold is never predicted. No line is added, so line i is still the line of instance i.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.errors import InputError
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.grammar import Reading
from mpu_cli.svmlight.reader import Dataset, iter_stream
from mpu_cli.svmlight.streams import open_input
from mpu_cli.svmlight.writer import score_lines

_NUMBER = rb"-?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf)"
_THRESHOLDS = re.compile(rb"# threshold(?: (" + _NUMBER + rb")|s((?: [0-9]{1,10}:" + _NUMBER + rb")+))\s*")
_COMMENT = re.compile(rb"# thresholds? [^\n]*")


def _choosing(comment: bytes) -> Callable[[csr_array], csr_array] | None:
    """Return the function from scores to labels, by the comment in a file's first line; None if it has no thresholds.

    The function returns bool, shape (n, Q).
    """
    found = _THRESHOLDS.fullmatch(comment)
    if found is None:
        return None
    pairs = sorted((int(label), float(value)) for label, value in (p.split(b":") for p in (found[2] or b"").split()))
    pairs.append((-1, float(found[1] or np.inf)))  # of all other labels
    ids = np.array([label for label, _ in pairs])
    with np.errstate(over="ignore"):  # values beyond the range become infinite
        values = np.array([value for _, value in pairs], np.float32)

    def reached(scores: csr_array) -> csr_array:
        place = np.searchsorted(ids[:-1], scores.indices)
        reach = scores.data >= values[np.where(ids[place] == scores.indices, place, -1)]
        labels = csr_array((reach, scores.indices, scores.indptr), shape=scores.shape, copy=True)
        labels.eliminate_zeros()
        return labels

    return reached


def with_thresholds(lines: bytes, ids: np.ndarray, thresholds: np.ndarray) -> bytes:
    """Append the comment with the thresholds to the first line of score lists.

    `lines`: at least one line.
    `ids`: int, shape (q,).
    `thresholds`: float32, shape (q,): written with the fewest digits that yield the same float32 when read.
    """
    first, end, others = lines.partition(b"\n")
    same = (thresholds == thresholds[0]).all()
    pairs = score_lines(np.array([0, 1 if same else len(ids)]), ids, thresholds).rstrip()
    comment = b" # threshold " + pairs.partition(b":")[2] if same else b" # thresholds " + pairs
    return first + comment + end + others


def iter_predictions(
    source: str | Path, reading: Reading, run: Run, threshold: float | None = None
) -> Iterator[Dataset]:
    """Read predictions in chunks, like `svmlight.reader.iter_chunks`: label lists as labels, and scores as features.

    Scores with thresholds also get label lists: the labels that reach their thresholds, unless the caller applies a
    threshold, which replaces them.
    """
    comment = b""  # in the line of the first instance

    def look(block: bytes, first_line: int, start: int) -> None:
        nonlocal comment
        if not comment and start < len(block):
            comment = b"#" + block[start:].partition(b"\n")[0].partition(b"#")[2]
        for found in _COMMENT.finditer(block):
            is_comment_line = block.startswith(b"#", block.rfind(b"\n", 0, found.start()) + 1)  # not by `mpu predict`
            if not is_comment_line and not comment.endswith(found[0]):
                line = first_line + block.count(b"\n", 0, found.start())
                advice = "evaluate the files that were joined one by one, or join label lists"
                raise InputError(source, f"has other thresholds than the first line; {advice}", line)

    reached, looking = None, look if threshold is None else None
    with open_input(source) as stream:
        reading = replace(reading, implicit_values=False, scores=True)
        for number, chunk in enumerate(iter_stream(stream, str(source), reading, run=run, look=looking)):
            if number == 0:
                reached = _choosing(comment)
            yield chunk if reached is None else Dataset(reached(chunk.features), chunk.features)
