"""Missing labels, estimated by a training: written as a list, or filled in to a copy of the data."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.complete import suggestions
from mpu_cli.core.complete.by_answers import Corrections
from mpu_cli.core.complete.other_labels import given_other_labels
from mpu_cli.core.complete.posterior import posterior_at
from mpu_cli.core.complete.suggestions import Cells, Choice, Count, FillingIn, Judged
from mpu_cli.core.data.implications import Implications
from mpu_cli.core.data.predictions import Predictions
from mpu_cli.core.data.problem import Problem
from mpu_cli.core.data.verified_labels import Verdict
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.train.evidence import Evidence
from mpu_cli.errors import STANDARD_STREAM, InputError
from mpu_cli.names import LabelNames, RecordIds
from mpu_cli.review import decisions
from mpu_cli.review.matching import stored
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.svmlight.grammar import DEFAULT_READING, Reading
from mpu_cli.svmlight.reader import split_header
from mpu_cli.svmlight.streams import Content, Counted, Files, Source, blocks, open_input, open_output
from mpu_cli.svmlight.writer import LabelSpans, find_labels, with_labels, without_labels


@dataclass(frozen=True, kw_only=True)
class Completion:
    """Missing labels and suspects of data."""

    # ndarray or csr_array of float32, shape (n, q): how probable each label is by the features, out of fold, and of
    # few labels also by the other annotations
    probabilities: Predictions
    ids: np.ndarray  # int, shape (q,): the label of each column
    annotated: csr_array  # bool, shape (n, q): what is annotated or verified as true, without what is verified as false
    # `confirmed`, `refuted`: bool, shape (n, q): what is verified as true and not annotated, and what is annotated
    # and verified as false
    confirmed: csr_array
    refuted: csr_array
    frequency: LabelFrequency
    # `of_labels`, `of_all`: how many labels are missing: of each, and of all together
    of_labels: Count
    of_all: Count
    listed: Cells  # the suggestions, the most probable first
    right: Count  # how many of these are right
    filling_in: FillingIn  # how many of these to fill in; none where none raises the expected F1
    judged: Judged | None  # what was decided of single cells, by which probabilities were corrected
    answers: int  # answers to questions, by which the probabilities and the counts are

    def suspects(self, top: int | None = None) -> Cells:
        """List annotated labels that are probably false, the least probable first."""
        return suggestions.suspects(self.probabilities, self.annotated, self.frequency, top)


def find(
    evidence: Evidence,
    problem: Problem,
    ids: np.ndarray,
    choice: Choice,
    implications: Implications | None = None,
    run: Run = DEFAULT_RUN,
) -> Completion:
    """List what is missing.

    `problem`: perhaps without features. Verified cells are not listed again.
    `ids`: int, shape (q,): the label, as written in files, of each column; ascending.
    `choice`, `implications`: as for `completion.complete`. Labels that are implied by those of an instance are left
    out.
    """
    labels, frequency = problem.labels, evidence.frequency
    positive = frequency.positives(labels).astype(bool)
    implied = None if implications is None else implications.implied(positive, ids, ids)
    with run.step("other labels"):
        probabilities = given_other_labels(evidence.probabilities, labels, frequency, run)
    reviewed = evidence.reviewed if evidence.reviewed and evidence.reviewed.answers else None
    with run.step("list"):
        of_labels, of_all = suggestions.missing_labels(labels, frequency, reviewed)
        missing = float(of_all.expected)
        second = np.zeros(0, int) if problem.second is None else problem.second
        annotated = positive.nnz - positive[second].nnz
        if choice == Choice():
            choice = replace(choice, least=annotated / max(2 * annotated + missing, 1))  # half of the F1 before
        corrections = Corrections.of(probabilities, labels, frequency, problem.answers, reviewed, problem.added)
        listed = suggestions.suggest(probabilities, positive, frequency, choice, implied, corrections)
        if corrections.by_answers is None:
            right = suggestions.expected_right(listed, frequency, missing / evidence.blocks)
        else:
            posterior = posterior_at(probabilities, frequency, listed.rows, listed.columns)
            right = corrections.by_answers.expected_right(listed, posterior)
        filling_in = suggestions.worth_filling_in(listed, annotated, missing)
    return Completion(
        probabilities=probabilities,
        ids=ids,
        annotated=positive,
        confirmed=csr_array(positive > labels),
        refuted=csr_array(labels.astype(bool) > positive),
        frequency=frequency,
        of_labels=of_labels,
        of_all=of_all,
        listed=listed,
        right=right,
        filling_in=filling_in,
        judged=corrections.judged,
        answers=reviewed.answers if reviewed else 0,
    )


def write_cells(
    target: str | Path,
    cells: Cells,
    completion: Completion,
    checksum: str,
    source: Source,
    names: LabelNames | None = None,
    ids: RecordIds | None = None,
    why: list[str] | None = None,
) -> None:
    """Write some cells, such as `completion.listed`, as a review file in which nothing is decided.

    `target`: written as a whole or not at all; ``-`` is standard output.
    `checksum`, `source`: the checksum of the features, by which a review is recognised as one of these data, and their
    name, for people.
    `why`: what speaks for each of the cells.
    """
    lines = decisions.Lines(cells.rows, completion.ids[cells.columns], probability=cells.probabilities, why=why)
    with open_output(target) as out:
        decisions.write(out, lines, of=source, checksum=checksum, names=names, ids=ids)


def write_filled(
    source: Source,
    target: str | Path,
    completion: Completion,
    most: int | None = None,
    implications: Implications | None = None,
    reading: Reading = DEFAULT_READING,
    instances: int | None = None,
    content: Content | None = None,
) -> int:
    """Copy the data with labels filled in: suggestions, and labels verified as true.

    Annotated labels that are verified as false are left out. Every other byte stays as it was.

    The data are read again, so not from standard input. The copy is written as a whole or not at all.

    `most`: fill in so many suggestions, the most probable ones. Default: all that are listed.
    `implications`: fill in too what the labels of an instance, those filled in included, imply.
    `instances`: how many of the instances, the first ones, are those of the data. Default: all.
    `content`: bytes of the data when they were learned from, and their checksum. Default: only instances are counted.
    Returns: how many labels were filled in.
    Raises InputError (the data cannot be read again, or have changed).
    """
    refuse_stream(source)
    n = completion.annotated.shape[0] if instances is None else instances
    chosen = completion.listed[:most]
    rows, columns = (
        np.concatenate(both) for both in zip(completion.confirmed.nonzero(), (chosen.rows, chosen.columns), strict=True)
    )
    labels = completion.ids[columns]
    if implications is not None:
        more_rows, more_labels = _implied(completion, chosen, implications)
        rows, labels = np.concatenate([rows, more_rows]), np.concatenate([labels, more_labels])
    order = np.lexsort((labels, rows))
    rows, labels = rows[order], labels[order]
    copied = 0
    with open_input(str(source)) as stream, open_output(target) as out:
        again = Counted(stream)
        for header, lines in _lines(again, str(source), reading):
            spans = find_labels(lines)
            if completion.refuted.nnz:
                there = completion.refuted[copied : copied + len(spans.sizes)]
                lines = without_labels(lines, spans, _in_order(lines, spans, there, completion.ids))
                spans = find_labels(lines)
            here = slice(*np.searchsorted(rows, [copied, copied + len(spans.sizes)]))
            out.write(header + with_labels(lines, spans, rows[here] - copied, labels[here]))
            copied += len(spans.sizes)
        if copied != n or content not in (None, again.content()):
            raise InputError(str(source), None, "changed while it was being read; try again")
    return len(rows)


def refuse_stream(source: Source) -> None:
    """Raise InputError for data that cannot be read twice, or are several files."""
    if isinstance(source, Files):
        raise InputError(str(source), None, "labels are filled in to one file at a time; give one FILE")
    if str(source) == STANDARD_STREAM or not Path(source).is_file():
        raise InputError(
            str(source), None, "labels can be filled in only where the data can be read twice; give a file"
        )


def _implied(completion: Completion, chosen: Cells, implications: Implications) -> tuple[np.ndarray, np.ndarray]:
    """Return instances and labels that are implied by those that are there or chosen."""
    new = csr_array((np.ones(len(chosen), bool), (chosen.rows, chosen.columns)), shape=completion.annotated.shape)
    wanted = np.union1d(completion.ids, implications.labels())
    there, verified = csr_array(completion.annotated + new), completion.frequency.verified
    rows, columns = implications.implied(there, completion.ids, wanted).nonzero()
    rows, labels = rows.astype(np.int64), wanted[columns]
    if verified is not None:  # what people have said outweighs what is implied
        there = csr_array(there + verified.cells.astype(bool))
    column = np.searchsorted(completion.ids, labels).clip(max=len(completion.ids) - 1)
    open_ = ~((completion.ids[column] == labels) & stored(there, rows, column))
    if verified is not None:
        open_ &= verified.instances[rows] == Verdict.UNKNOWN
    return rows[open_], labels[open_]


def _in_order(lines: bytes, spans: LabelSpans, cells: csr_array, ids: np.ndarray) -> np.ndarray:
    """Return which of the labels of some lines, in their order there, are among some cells."""
    written = spans.numbers(lines)
    rows = np.repeat(np.arange(len(spans.sizes)), spans.sizes)
    column = np.searchsorted(ids, written).clip(max=len(ids) - 1)
    return (ids[column] == written) & stored(cells, rows, column)


def _lines(stream: Counted, source: str, reading: Reading) -> Iterator[tuple[bytes, bytes]]:
    """Yield the lines of instances in blocks, each with what goes before it: the header of the file, or nothing."""
    for first_line, block in blocks(stream, source, reading.max_line_bytes):
        lines = block
        if first_line == 1 and not reading.implicit_values:
            _, lines = split_header(block)
        yield block[: len(block) - len(lines)], lines
