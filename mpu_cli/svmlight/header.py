"""The header of a file: where it ends, and whether the file has what it announces."""

import logging
from typing import NamedTuple

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
