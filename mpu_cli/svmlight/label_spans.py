"""Find the labels in the bytes of a file, remove or insert labels."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

_ENDS_LABELS = {b"", b" ", b"\t", b"\r", b"\n"}
_ENDS_FIRST_TOKEN = np.zeros(256, bool)
_ENDS_FIRST_TOKEN[list(b" \t\r\n#:")] = True


@dataclass(frozen=True)
class LabelSpans:
    """The positions of the labels in a block of lines, in the order of the file.

    Attributes
    ----------
    starts, stops : int array, shape (m,)
        Label j is ``block[starts[j]:stops[j]]``.
    sizes : int array, shape (n,)
        Number of labels of each instance. The labels of an instance are consecutive.
    lines : int array, shape (n,)
        Where the line of each instance starts.
    """

    starts: np.ndarray
    stops: np.ndarray
    sizes: np.ndarray
    lines: np.ndarray

    def numbers(self, block: bytes) -> np.ndarray:
        """Return the labels themselves: int array, shape (m,)."""
        pairs = zip(self.starts.tolist(), self.stops.tolist(), strict=True)
        return np.array([int(block[start:stop]) for start, stop in pairs], np.int64)


def find_labels(block: bytes) -> LabelSpans:
    """Find the labels in whole lines.

    Parameters
    ----------
    block : bytes
        Lines that follow the grammar (see `mpu_cli.svmlight.grammar`), without the header of the file.
    """
    characters = np.frombuffer(block + b"\n", np.uint8)
    lines = np.concatenate(([0], np.flatnonzero(characters[:-1] == ord("\n")) + 1))
    lines = lines[lines < len(block)]
    instances = lines[characters[lines] != ord("#")]
    ends = np.flatnonzero(_ENDS_FIRST_TOKEN[characters])
    stops = ends[np.searchsorted(ends, instances)]
    labelled = (stops > instances) & (characters[stops] != ord(":"))

    commas = np.flatnonzero(characters == ord(","))
    owner = np.searchsorted(instances, commas, side="right") - 1
    commas, owner = commas[owner >= 0], owner[owner >= 0]
    between_labels = labelled[owner] & (commas < stops[owner])  # the others are in comments
    commas, owner = commas[between_labels], owner[between_labels]
    return LabelSpans(
        starts=np.sort(np.concatenate((instances[labelled], commas + 1))),
        stops=np.sort(np.concatenate((stops[labelled], commas))),
        sizes=labelled + np.bincount(owner, minlength=len(instances)),
        lines=instances,
    )


def without_labels(block: bytes, spans: LabelSpans, removed: np.ndarray) -> bytes:
    """Return whole lines without some of their labels. Every other byte stays the same.

    One comma next to a removed label is removed too. If all labels of a line are removed and only a comment, or nothing
    at the end of the file, would be left, a space is inserted. Without it the line would no longer be an instance.

    Parameters
    ----------
    block : bytes
        The lines.
    spans : LabelSpans
        Their labels.
    removed : bool array, shape (m,)
        The labels to remove.
    """
    gone = np.zeros(len(block) + 1, np.int8)
    gone[spans.starts[removed]] = 1
    gone[spans.stops[removed]] = -1
    gone = np.cumsum(gone[:-1], dtype=np.int8).astype(bool)

    sizes = spans.sizes[spans.sizes > 0]
    row_stops = np.cumsum(sizes)
    row_starts = row_stops - sizes
    kept_before = np.cumsum(~removed) - ~removed
    kept_before -= np.repeat(kept_before[row_starts], sizes)
    needs_comma = ~removed & (kept_before > 0)
    has_comma = np.ones(len(removed), bool)
    has_comma[row_starts] = False
    gone[spans.starts[has_comma & ~needs_comma] - 1] = True

    characters = np.frombuffer(block, np.uint8).copy()
    emptied_stops = spans.stops[row_stops - 1][np.add.reduceat(~removed, row_starts, dtype=int) == 0]
    followers = np.append(characters, ord("#"))[emptied_stops]
    needs_space = emptied_stops[followers == ord("#")] - 1
    gone[needs_space] = False
    characters[needs_space] = ord(" ")
    return characters[~gone].tobytes()


def with_labels(block: bytes, spans: LabelSpans, rows: np.ndarray, labels: np.ndarray) -> bytes:
    """Return whole lines with labels appended to their label lists. Every other byte stays the same.

    Parameters
    ----------
    block : bytes
        The lines.
    spans : LabelSpans
        Their labels.
    rows : int array, shape (m,), ascending
        The instances that get a label, from 0.
    labels : int array, shape (m,)
        The label that each gets.

    Examples
    --------
    >>> block = b"3 1:0.5\\n2:1\\n"
    >>> with_labels(block, find_labels(block), np.array([0, 1, 1]), np.array([7, 4, 5]))
    b'3,7 1:0.5\\n4,5 2:1\\n'
    """
    ends = np.cumsum(spans.sizes)
    pieces = []
    done = 0
    for row, first, last in _runs(rows):
        new = b",".join(b"%d" % label for label in labels[first:last].tolist())
        if spans.sizes[row]:
            place = int(spans.stops[ends[row] - 1])
            new = b"," + new
        else:
            place = int(spans.lines[row])
            new += b"" if block[place : place + 1] in _ENDS_LABELS else b" "
        pieces += [block[done:place], new]
        done = place
    return b"".join([*pieces, block[done:]])


def _runs(rows: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """Yield each distinct number of an ascending array, with the start and the end of its run."""
    firsts = np.flatnonzero(np.diff(rows, prepend=-1))
    ends = np.append(firsts, len(rows))[1:]
    yield from zip(rows[firsts].tolist(), firsts.tolist(), ends.tolist(), strict=True)
