"""Tables that a training reads beside its data: label frequencies, groups of instances, scores, label features.

A frequency file has one line ``label c`` per label, with ``#`` comments; those before the first line contain the
estimate, if `mpu estimate-c` has written the file. In a group file, line k contains the name of instance k's group.
Scores are in the format of ``mpu predict --format scores``.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array, vstack

from mpu_cli.core.features import Columns, entry_rows, with_width
from mpu_cli.core.frequency.label_frequency import EarlierEstimate
from mpu_cli.core.predictions import refuse_large_predictions
from mpu_cli.core.problem import InstanceGroups
from mpu_cli.errors import InputError, counted, one_line
from mpu_cli.names.label_names import NAMELESS, LabelNames, Names
from mpu_cli.names.lines import at_line, cell, meanings, text_lines
from mpu_cli.names.naming import FOLDER, LABEL_FEATURES, find_names, read_names, there
from mpu_cli.runtime.options import LEAST_FREQUENCY
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.grammar import Reading
from mpu_cli.svmlight.prediction_files import iter_predictions
from mpu_cli.svmlight.reader import Preamble, read
from mpu_cli.svmlight.streams import Source, as_one, files_of, open_input
from mpu_cli.text.stored import Stored, from_one

_NUMBER = r"((?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?|\d+\.)"
# The end of a line. It is unambiguous, so that matching takes linear time.
_FREQUENCY = re.compile(rf"\s{_NUMBER}\s*(?:#|\Z)", re.ASCII)
_EARLIER = re.compile(rf"# estimated c {_NUMBER}(?:, 90 % interval {_NUMBER} to {_NUMBER})?", re.ASCII)
_WARNING = "# warning: "
_LONGEST_COMMENT = 10_000  # as for a warning


def read_frequencies(
    source: str | Path, label_ids: np.ndarray, names: LabelNames = NAMELESS, may_be_absent: np.ndarray | None = None
) -> np.ndarray | EarlierEstimate:
    """Read the label frequency of each label.

    `label_ids`: int, shape (q,): the labels to look up. Other labels in the file are ignored.
    `names`: label names that the file may use.
    `may_be_absent`: labels that need no line: they get the mean of the others.
    Returns: float64, shape (q,), from `LEAST_FREQUENCY` to 1; with the estimate, if the file contains it.
    Raises InputError (as for `frequencies_of_file`, or one of the labels is missing).
    """
    by_label, earlier = frequencies_of_file(source, names)
    c = np.array([by_label.get(label, np.nan) for label in label_ids.tolist()])
    absent = np.isnan(c)
    if len(needed := np.setdiff1d(label_ids[absent], () if may_be_absent is None else may_be_absent)):
        problem = f"there is no line for label {needed[0]}; each label of the data, and of a review of them, needs one"
        raise InputError(source, problem)
    rates = np.where(absent, c[~absent].mean(), c)
    return rates if earlier is None else replace(earlier, rates=rates)


def frequencies_of_file(
    source: str | Path, names: LabelNames = NAMELESS
) -> tuple[dict[int, float], EarlierEstimate | None]:
    """Read the label frequencies in a file, and the estimate in its comments; None if the comments contain none.

    Raises InputError (a line is not a label and a number from `LEAST_FREQUENCY` to 1, a label name is unknown, or a
    label is duplicate).
    """
    frequencies: dict[int, float] = {}
    comments: list[str] = []
    for number, line in enumerate(text_lines(source), 1):
        if not line.partition("#")[0].strip():
            text = line[:_LONGEST_COMMENT].strip()
            if not frequencies and text.startswith(("# estimated c", _WARNING)):
                comments.append(text)
            continue
        with at_line(source, number):
            label, c = _parse(line.strip(), names)
            if label in frequencies:
                raise ValueError(f"label {label} is duplicate; remove one of the lines")
            frequencies[label] = c
    estimates = list(filter(None, map(_EARLIER.fullmatch, comments)))  # as `estimate_lines` writes them
    if not estimates:
        return frequencies, None
    c, *interval = (float(number) for number in estimates[0].groups() if number is not None)
    warnings = tuple(text.removeprefix(_WARNING) for text in comments if text.startswith(_WARNING))
    ends, rates = (interval[0], interval[1]) if interval else None, np.array([*frequencies.values()])
    return frequencies, EarlierEstimate(rates, c, ends, warnings)


def estimate_lines(c: float, interval: tuple[float, float] | None, warnings: Sequence[str]) -> bytes:
    """Return the comments of a frequency file that describe the estimate: overall c, its interval, warnings."""
    ends = "" if interval is None else ", 90 % interval {:.6g} to {:.6g}".format(*interval)
    lines = [f"# estimated c {c:.6g}{ends}", *(_WARNING + one_line(text) for text in warnings)]
    return "".join(f"{line}\n" for line in lines).encode()


def _parse(text: str, names: LabelNames) -> tuple[int, float]:
    """Return label and frequency; the label is a number, or a name, which may contain blanks and ``#``.

    A comment with the name of the label makes a number clear.
    """
    match = _FREQUENCY.search(text)
    if match is None or not LEAST_FREQUENCY <= (c := float(match[1])) <= 1:
        problem = f"expected a label and its frequency, a number from {LEAST_FREQUENCY:g} to 1, such as: 12 0.4"
        raise ValueError(problem)
    return names.number(text[: match.start()].strip(), meanings(text[match.end() :].strip())), c


def frequency_lines(label_ids: np.ndarray, c: np.ndarray, names: LabelNames = NAMELESS) -> bytes:
    """Return the lines of a frequency file, with each label's name as a comment if names are given."""
    comments = [f"  # {cell(names.name(label))}" if names else "" for label in label_ids.tolist()]
    rows = zip(label_ids.tolist(), c.tolist(), comments, strict=True)
    return "".join(f"{label} {value:.6g}{comment}\n" for label, value, comment in rows).encode()


def read_groups(source: str | Path, n: int) -> InstanceGroups:
    """Read the group of each of n instances.

    `source`: UTF-8 text, plain or compressed. An empty line: the instance is in the unnamed group.
    Raises InputError (the file cannot be read, or has the wrong number of lines).
    """
    lines = [line.strip() for line in islice(text_lines(source), n + 1)]
    if len(lines) != n:
        how = "more" if len(lines) > n else f"{len(lines):,}"
        problem = f"has {how} lines, and there are {counted(n, 'instance')}: line k is for instance k"
        raise InputError(source, problem)
    names, numbers = np.unique(np.array(lines, dtype=object), return_inverse=True)
    return InstanceGroups(numbers, tuple(names.tolist()))


def read_scores(
    source: str, n: int, ids: np.ndarray, annotations: np.ndarray, *, reading: Reading, run: Run
) -> np.ndarray:
    """Read the scores of the labels of n instances.

    The file has one line per instance. Labels without a score in a line have score 0; predicted labels and thresholds
    in it are not used. Labels that are never annotated need no scores.

    Returns: float32, shape (n, q): from 0 to 1.
    Raises InputError (the file cannot be read, its number of instances or its labels differ, or a score is not from 0
    to 1), TooLargeError (the scores do not fit in memory).
    """
    wrong = partial(InputError, source)
    refuse_large_predictions(n, len(ids))
    scores = np.empty((n, len(ids)), np.float32)
    scores[:] = 0
    scored = np.zeros(len(ids), bool)
    total = 0
    for chunk in iter_predictions(source, reading, run):
        part, start = chunk.features, total
        total += len(chunk)
        if total > n:
            continue
        rows, columns = entry_rows(part) + start, np.searchsorted(ids, part.indices).clip(max=len(ids) - 1)
        if len(strange := np.flatnonzero(ids[columns] != part.indices)):
            first = strange[0]
            raise wrong(f"instance {rows[first] + 1} has a score of label {part.indices[first]}, which FILE never has")
        if len(outside := np.flatnonzero(~((part.data >= 0) & (part.data <= 1)))):
            first = outside[0]
            raise wrong(
                f"instance {rows[first] + 1}: the score {part.data[first]:g} of label {part.indices[first]} is not "
                "from 0 to 1; take 1 / (1 + exp(-score)) of scores of a decision function"
            )
        scores[rows, columns] = part.data
        scored[columns] = True
    if total != n:
        raise wrong(
            f"has {counted(total, 'instance')}, and FILE has {n:,}; line k has the out-of-fold scores of instance k"
        )
    if len(without := ids[(annotations > 0) & ~scored]):
        raise wrong(f"no instance has a score of label {without[0]}, which FILE has; write label:score for each label")
    return scores


def read_label_features(
    path: str | Path, ids: np.ndarray, occurring: Columns, data: Source, *, reading: Reading, run: Run
) -> tuple[np.ndarray, csr_array]:
    """Read a file with one line ``number index:value ...`` per label. Return the labels and their vectors.

    `ids`, `occurring`: labels and features of the data; the file must contain some of each.
    Raises InputError (the file cannot be read, or does not fit the data).
    """
    lines = read(path, reading, run)
    lines.features.eliminate_zeros()
    refused = partial(_refused, path)
    many = np.flatnonzero(np.diff(lines.labels.indptr) != 1)
    if len(many):
        raise refused(int(many[0]), "expected the number of one label, and its features, such as: 12 3:0.5 7:1")
    numbers, first = np.unique(lines.labels.indices, return_index=True)
    if len(numbers) < len(lines):
        again = int(np.setdiff1d(np.arange(len(lines)), first)[0])
        raise refused(again, f"label {lines.labels.indices[again]} has a line before this one; remove one of them")
    if not np.isin(ids, numbers).any():
        raise InputError(path, f"has features of none of the labels of {data}, such as {ids[0]}")
    if not occurring.counts(lines.features).any():
        raise InputError(path, f"has no feature in common with {data}; features need the same numbers in both")
    return numbers, lines.features[first]


def _refused(path: str | Path, instance: int, problem: str) -> InputError:
    """Return the error for a line, found by the number of its instance."""
    with open_input(path) as stream:
        lines = enumerate(iter(stream.readline, b""), 1)
        preamble = Preamble()
        there = (n for n, line in lines if not preamble.end_in(line, n) and not line.startswith(b"#"))
        line = next(islice(there, instance, None), None)
    return InputError(path, problem, line)


def label_features_beside(source: Source, given: Names | None, kept: Stored) -> tuple[np.ndarray, csr_array] | None:
    """Return the labels and the vectors of their names beside data that `mpu vectorize` wrote; None if absent.

    `given`: the names, if not those beside the data; the vectoriser makes the vectors of those that differ.
    """
    files = [str(file) for data in files_of(source) if (file := there(data, FOLDER, LABEL_FEATURES)) is not None]
    if not files:
        return None
    lines = read(as_one(files), may_be_empty=True)
    numbers, first = np.unique(lines.labels.indices, return_index=True)
    vectors = lines.features[first]
    if given is None:
        return numbers, vectors
    from mpu_cli.text.vectorizer import Vectorizer  # scikit-learn takes half a second

    path = find_names(source)
    own = {} if path is None else read_names(path)[0]
    others = [number for number, names in given.items() if names and names != own.get(number)]
    made = from_one(Vectorizer.of(kept).transform_names([given[number] for number in others]))
    same = np.array([given.get(number) == own.get(number) for number in numbers.tolist()], bool)
    both = with_width(vectors[same], made.shape[1]), made
    return np.append(numbers[same], np.array(others, int)), csr_array(vstack(both, format="csr"))
