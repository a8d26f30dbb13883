"""Features and labels in two files, as in the Extreme Classification Repository, which are read as one.

The features are in ``trn_X_Xf.txt``, with the header ``n d`` and lines ``index:value ...``; the labels beside them in
``trn_X_Y.txt``, with the header ``n q`` and lines ``label:1 ...``. ``X.txt`` and ``Y.txt`` are such files, too. Either
name means both files.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from mpu_cli.errors import InputError
from mpu_cli.svmlight.grammar import Header, header_of

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
