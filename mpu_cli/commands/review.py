"""Files for reviewing labels: a page, or tasks for Label Studio, and the decisions in an export of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mpu_cli.errors import InputError
from mpu_cli.names import BESIDE, LabelNames, Naming
from mpu_cli.names.lines import text_lines
from mpu_cli.names.name_files import read_names
from mpu_cli.review import decisions, label_studio, worklist
from mpu_cli.review.numbering import checksum
from mpu_cli.review.page import page
from mpu_cli.review.values import NOTHING_ELSE
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.svmlight.grammar import DEFAULT_READING, Reading
from mpu_cli.svmlight.reader import read
from mpu_cli.svmlight.streams import open_input, open_output
from mpu_cli.text.records import Fields, read_records
from mpu_cli.text.rows import Bad, format_of
from mpu_cli.text.sidecars import Sidecars


@dataclass(frozen=True, kw_only=True)
class Report:
    """What there is to review.

    Attributes
    ----------
    instances, suggestions : int
        Instances to review, and labels that are suggested for them.
    labels : int
        Labels to choose from.
    """

    instances: int
    suggestions: int
    labels: int


@dataclass(frozen=True, kw_only=True)
class ImportReport:
    """What an export held.

    Attributes
    ----------
    tasks, open_tasks : int
        Tasks in all, and those without annotation.
    decisions, closed : int
        Decisions, and instances of which nothing else is true.
    """

    tasks: int
    open_tasks: int
    decisions: int
    closed: int


@dataclass(frozen=True, kw_only=True)
class Display:
    """By what instances and labels are shown.

    Attributes
    ----------
    text, text_field
        A text on each line; or records, as `mpu vectorize` reads them, and the field of the text, which need not be
        named where it is the only one. Without texts, an instance is shown by its heaviest features.
    naming : Naming
        Where the names of labels are.
    by_number : bool
        Show numbers of labels also where they have names.
    features : str, Path or None
        A file of names of features.
    """

    text: str | Path | None = None
    text_field: str | None = None
    naming: Naming = BESIDE
    by_number: bool = False
    features: str | Path | None = None


def prepare(
    source: str | Path,
    target: str | Path,
    display: Display = Display(),
    *,
    sample: int | None = None,
    suggestions: str | Path | None = None,
    label_studio_tasks: bool = False,
    reading: Reading = DEFAULT_READING,
    run: Run = DEFAULT_RUN,
) -> Report:
    """Write a page for reviewing, or tasks for Label Studio.

    Parameters
    ----------
    source, target : str or Path
        Data, and what is written.
    display : Display
    sample : int, optional
        Review so many instances, drawn at random by ``run.seed``.
    suggestions : str or Path, optional
        A file of suggested labels; without `sample`, the instances in it are reviewed. With neither, all are.
    label_studio_tasks : bool
    reading : Reading
    run : Run

    Raises
    ------
    InputError
        A file cannot be read, or does not belong to the data.
    MpuError
        There is nothing to review, or too much; or `target` cannot be written.
    """
    with run.step("read"):
        sidecars = Sidecars(source)
        data = read(source, reading, run, contents=sidecars.contents)
        digits = checksum(data.features)
    drawn = None if sample is None else worklist.draw(len(data), sample, run.seed)
    names = sidecars.names_of(display.naming, data.occurring_labels()[1])
    suggested = None
    if suggestions is not None:
        suggested = worklist.read_suggestions(suggestions, data, source, digits, names)
    wanted = worklist.choose(len(data), drawn, suggested)
    if not wanted:
        raise InputError(str(suggestions), None, "nothing is left to review: all is decided, or annotated already")
    work = worklist.make(
        data,
        source,
        digits=digits,
        sample=drawn,
        suggestions=suggested,
        texts=_texts(display, set(wanted), len(data), reading.max_line_bytes),
        label_names=None if display.by_number else names,
        feature_names=None if display.features is None else read_names(display.features)[0],
    )
    with open_output(target) as out:
        out.write(label_studio.tasks(work) if label_studio_tasks else page(work))
    n_suggested = sum(len(item.suggested) for item in work.items)
    return Report(instances=len(work.items), suggestions=n_suggested, labels=len(work.labels.numbers))


def _texts(display: Display, wanted: set[int], n: int, max_line_bytes: int) -> dict[int, str] | None:
    """Read the texts of some of n instances, which count from 0."""
    source, field = display.text, display.text_field
    if source is None:
        return None
    form = format_of(source)
    if form is None and field is not None:
        raise InputError(
            str(source), None, f"has no field {field!r}: fields are for .jsonl, .ndjson, .csv and .tsv, by their names"
        )
    texts = text_lines(source) if form is None else _of_records(source, form, field, max_line_bytes)
    count, kept = 0, {}
    for text in texts:
        if count == n:
            raise InputError(str(source), None, f"has more texts than the data have instances, {n}; each has one")
        if count in wanted:
            kept[count] = text
        count += 1
    if count < n:
        raise InputError(str(source), None, f"has {count} texts, but the data have {n} instances; each has one")
    return kept


def _of_records(source: str | Path, form: str, field: str | None, max_line_bytes: int) -> Iterator[str]:
    fields = Fields(() if field is None else (field,), tags="", id="")  # the others are not looked at
    with open_input(source) as stream:
        for record in read_records(stream, str(source), form, fields, max_line_bytes):
            if isinstance(record, Bad):
                raise InputError(str(source), record.line, record.problem)
            yield record.text


def import_label_studio(source: str | Path, target: str | Path, *, naming: Naming = BESIDE) -> ImportReport:
    """Write a review file of what was decided in Label Studio.

    Parameters
    ----------
    source, target : str or Path
        Its export, and the review file.
    naming : Naming
        The file of names, if there is one, by which annotators may have named further labels.

    Raises
    ------
    InputError
        As `label_studio.read_export`.
    MpuError
        `target` cannot be written.
    """
    names = None
    if naming.file is not None:
        names = LabelNames.of(read_names(naming.file, 0 if naming.zero_based else 1)[0], str(naming.file))
    export = label_studio.read_export(source, names)
    cells = np.array([row[:2] for row in export.rows], np.int64).reshape(-1, 2)
    lines = decisions.Lines(
        cells[:, 0],
        cells[:, 1],
        verdict=[verdict for _, _, verdict, _ in export.rows],
        source=[kind for _, _, _, kind in export.rows],
    )
    with open_output(target) as out:
        decisions.write(out, lines, of=export.file, checksum=export.checksum)
    closed = int(np.count_nonzero(cells[:, 1] == NOTHING_ELSE))
    return ImportReport(tasks=export.tasks, open_tasks=export.open_tasks, decisions=len(cells), closed=closed)
