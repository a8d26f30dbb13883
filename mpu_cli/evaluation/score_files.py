"""Files of predictions, and the thresholds in a file of scores.

Scores alone do not say which labels are predicted. So a comment ends the first line of the scores that `mpu predict`
writes: the threshold of the model, ``# threshold 0.31``, or that of each label, ``# thresholds 3:0.31 7:0.5``. A label
is predicted if its score is at least its threshold; one without a threshold is never predicted. No line is added, so
line i is still that of instance i, for every reader that skips comments.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.data.predictions import over
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.grammar import Reading
from mpu_cli.svmlight.reader import iter_stream, no_instances
from mpu_cli.svmlight.streams import Files, Readable, Source, open_input
from mpu_cli.svmlight.writer import score_lines

_NUMBER = rb"(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf)"
_ONE = re.compile(rb"# threshold (" + _NUMBER + rb")\s*")
_EACH = re.compile(rb"# thresholds((?: [0-9]{1,10}:" + _NUMBER + rb")+)\s*")


@dataclass(frozen=True)
class _Thresholds:
    """The thresholds from which on labels are predicted.

    Attributes
    ----------
    ids : ndarray of int, shape (q,), or None
        The labels, ascending. None: all labels have the same threshold.
    values : ndarray of float32, shape (q,) or (1,)
    """

    ids: np.ndarray | None
    values: np.ndarray

    @classmethod
    def of(cls, line: bytes) -> "_Thresholds | None":
        """Parse the comment in the first line of a file; None without one."""
        comment = b"#" + line.partition(b"#")[2]
        if (one := _ONE.fullmatch(comment)) is not None:
            return cls(None, _of_32_bits([float(one[1])]))
        if (each := _EACH.fullmatch(comment)) is None:
            return None
        pairs = (pair.split(b":") for pair in each[1].split())
        ids, values = zip(*sorted((int(label), float(value)) for label, value in pairs), strict=True)
        return cls(np.array(ids), _of_32_bits(values))

    def reached(self, scores: csr_array) -> csr_array:
        """Return which labels are predicted, shape (n, Q), bool."""
        if self.ids is None:
            return over(scores, self.values[0])
        place = np.searchsorted(self.ids, scores.indices).clip(max=len(self.ids) - 1)
        return over(scores, np.where(self.ids[place] == scores.indices, self.values[place], np.float32(np.inf)))


def _of_32_bits(values: Sequence[float]) -> np.ndarray:
    with np.errstate(over="ignore"):  # what is beyond becomes infinite
        return np.array(values, np.float32)


def with_thresholds(lines: bytes, ids: np.ndarray, thresholds: np.ndarray) -> bytes:
    """Append the comment with the thresholds to the first line of score lists.

    Parameters
    ----------
    lines : bytes
        At least one line.
    ids : ndarray of int, shape (q,)
    thresholds : ndarray of float32, shape (q,)
        Written with the fewest digits that give the same float32 when read.
    """
    first, end, others = lines.partition(b"\n")
    same = (thresholds == thresholds[0]).all()
    pairs = score_lines(np.array([0, 1 if same else len(ids)]), ids, thresholds).rstrip()
    comment = b" # threshold " + pairs.partition(b":")[2] if same else b" # thresholds " + pairs
    return first + comment + end + others


def as_predictions(reading: Reading) -> Reading:
    """Return the options for reading predictions, from those for reading data."""
    return replace(reading, implicit_values=False, scores=True)


def iter_predictions(source: Source, reading: Reading, run: Run, may_be_empty: bool = False) -> Iterator[Dataset]:
    """Read predictions in chunks, as `svmlight.reader.iter_chunks` does: label lists as labels, and scores as features.

    Scores with thresholds have label lists too: the labels that reach them. Each of several files has its own ones.
    """
    if isinstance(source, Files):
        instances = 0
        for file in source:
            for chunk in iter_predictions(file, reading, run, may_be_empty=True):
                instances += len(chunk)
                yield chunk
        if not instances and not may_be_empty:
            raise no_instances(source)
        return
    with open_input(source) as stream:
        first_line = _FirstLine(stream)
        thresholds = None
        chunks = iter_stream(first_line, str(source), as_predictions(reading), run=run, may_be_empty=may_be_empty)
        for number, chunk in enumerate(chunks):
            if number == 0:
                thresholds = _Thresholds.of(first_line.text)
            yield chunk if thresholds is None else Dataset(thresholds.reached(chunk.features), chunk.features)


class _FirstLine:
    """A stream that keeps its first line."""

    def __init__(self, stream: Readable) -> None:
        self._stream = stream
        self._complete = False
        self.text = b""

    def read(self, n: int = -1, /) -> bytes:
        data = self._stream.read(n)
        if not self._complete:
            line, end, _ = data.partition(b"\n")
            self.text += line
            self._complete = bool(end)
        return data
