"""What is particular to files of the Extreme Classification Repository: a header, and labels in a file of their own.

The header ends where the instances begin, and the file must have what it announces. Features and labels in two files
are read as one. The features are in ``trn_X_Xf.txt``, with the header ``n d`` and lines ``index:value ...``; the labels
beside them in ``trn_X_Y.txt``, with the header ``n q`` and lines ``label:1 ...``. ``X.txt`` and ``Y.txt`` are such
files, too. Either name means both files.
"""

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from mpu_cli.errors import InputError, counted, shown
from mpu_cli.svmlight.grammar import BYTE_ORDER_MARK, Header, Reading, header_of, is_comment

_log = logging.getLogger(__name__)


class Extent(NamedTuple):
    """How many instances there are, and the largest label and feature, plus 1."""

    instances: int
    labels: int
    features: int


class Top:
    """What precedes the instances of a file: comments, and perhaps a header after them."""

    def __init__(self) -> None:
        self.header: Header | None = None
        self.has_ended = False
        self._line = 0

    def end_in(self, block: bytes, first_line: int) -> int:
        """Return where the instances begin in whole lines, of which the first has this number.

        Call this for each block of a file in turn.
        """
        if self.has_ended:
            return 0
        start = len(BYTE_ORDER_MARK) if first_line == 1 and block.startswith(BYTE_ORDER_MARK) else 0
        while is_comment(block[start : start + 1]):
            start = block.find(b"\n", start) + 1 or len(block)
        end = block.find(b"\n", start) + 1 or len(block)
        self.has_ended = start < len(block)
        self.header = header_of(block[start:end])
        self._line = first_line + block.count(b"\n", 0, start)
        return start if self.header is None else end

    def check(self, extent: Extent, source: str, reading: Reading) -> None:
        """Return what a header declares, if there is one. Raise InputError where the file does not have that."""
        if self.header is None:
            return
        header = self.header
        advice = "; with --implicit-values, an instance of label 3 is written 3 5:1" * reading.implicit_values
        if header.instances != extent.instances:
            raise InputError(
                source,
                self._line,
                f"the header declares {header.instances} instances, but {extent.instances} follow; is the file cut "
                f"short, or are files joined? (two or three integers alone on the first line are a header{advice})",
            )
        numbers: list[tuple[int, int | None, str]] = [
            (extent.labels, header.labels, "label"),
            (extent.features, header.features, "feature"),
        ]
        if reading.scores:
            numbers = [(max(extent.labels, extent.features), header.labels, "label")]
        elif header.features is None and not extent.labels:  # the features alone, with labels in another file
            numbers = [(extent.features, header.labels, "feature")] * reading.labels
        for found, announced, name in numbers:
            is_wanted = reading.labels or name == "feature"
            if is_wanted and announced is not None and found > announced:
                raise InputError(
                    source,
                    self._line,
                    f"the header declares {counted(announced, name)}, numbered from 0, but {name} {found - 1} "
                    "follows; correct the header, or remove it",
                )
        counts = [f"{name}s 0 to {announced - 1}" for _, announced, name in numbers if announced]
        if not header.instances:
            return
        _log.log(
            logging.WARNING if reading.implicit_values else logging.INFO,
            f"{shown(source)}:{self._line}: is a header: "
            + ", ".join([counted(header.instances, "instance"), *counts])
            + advice,
            extra={"once": True},
        )


_NAME = re.compile(r"(|.*[^A-Za-z])(Xf?|Y)(\..*)")
_HEADER_BYTES = 100
_LABELS = re.compile(rb"(?:[0-9]+:1(?:\.0*)?(?:[ \t]+|(?=\r?\Z)))*\r?")
_VALUE = re.compile(rb":[^\s]*")
_FEATURES = re.compile(rb"[0-9]+:|\r?\Z")
Open = Callable[[Path], AbstractContextManager[Any]]


class Pair(NamedTuple):
    """The files of the same instances."""

    features: Path
    labels: Path


def pair_of(source: str | Path, opened: Open) -> Pair | None:
    """Return the two files that a name means; None where it means one file.

    Both are there, and begin with a header of two numbers, as `opened` gives it.
    """
    name = _NAME.fullmatch(Path(source).name)
    if name is None:
        return None
    start, kind, end = name.groups()
    for features in ("Xf", "X") if kind == "Y" else (kind,):
        pair = Pair(*(Path(source).with_name(f"{start}{this}{end}") for this in (features, "Y")))
        if all(path.is_file() and _header(path, opened) for path in pair):
            return pair
    return None


def _header(path: Path, opened: Open) -> Header | None:
    with opened(path) as stream:
        header = header_of(stream.readline(_HEADER_BYTES))
    return header if header is not None and header.features is None else None


def joined(pair: Pair, opened: Open) -> Iterator[bytes]:
    """Yield the lines of both files as those of one: the header ``n d q``, then ``label,label index:value ...``."""
    (n, _, d), (m, _, q) = (_header(path, opened) or (0, 0, 0) for path in pair)
    if n != m:
        problem = f"the header declares {m} instances, but {n} in {pair.features}; are both files of the same data?"
        raise InputError(str(pair.labels), 1, problem)
    yield b"%d %d %d\n" % (n, d, q)
    lines = zip_longest(*(_lines_below_header(path, opened) for path in pair))
    for number, (features, labels) in enumerate(lines, 2):
        if features is None or labels is None:
            ended, other = pair if features is None else reversed(pair)
            raise InputError(str(ended), number, f"the file ends before this line, which {other} has; is it cut short?")
        if not _LABELS.fullmatch(labels):
            raise InputError(str(pair.labels), number, "expected labels, such as 3:1 7:1")
        if not _FEATURES.match(features):
            problem = f"expected features, such as 1:0.5 4:2, since labels are in {pair.labels}"
            raise InputError(str(pair.features), number, problem)
        yield b"%b %b\n" % (b",".join(_VALUE.sub(b"", labels).split()), features)


def _lines_below_header(path: Path, opened: Open) -> Iterator[bytes]:
    with opened(path) as stream:  # an error names the file that has it
        stream.readline()
        for line in iter(stream.readline, b""):
            yield line.removesuffix(b"\n").strip(b" \t")
