"""Files for reviewing labels: a page, or tasks for Label Studio, and the decisions in an export of it."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mpu_cli.errors import InputError
from mpu_cli.review import decisions, label_studio, texts, worklist
from mpu_cli.review.numbering import checksum
from mpu_cli.review.page import page
from mpu_cli.review.values import NOTHING_ELSE
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.svmlight.grammar import DEFAULT_READING, Reading
from mpu_cli.svmlight.reader import read
from mpu_cli.svmlight.streams import open_output


@dataclass(frozen=True)
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


@dataclass(frozen=True)
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


def prepare(
    source: str | Path,
    target: str | Path,
    *,
    sample: int | None = None,
    suggestions: str | Path | None = None,
    text: str | Path | None = None,
    text_field: str | None = None,
    labels: str | Path | None = None,
    features: str | Path | None = None,
    label_studio_tasks: bool = False,
    reading: Reading = DEFAULT_READING,
    run: Run = DEFAULT_RUN,
) -> Report:
    """Write a page for reviewing, or tasks for Label Studio.

    Parameters
    ----------
    source, target : str or Path
        Data, and what is written.
    sample : int, optional
        Review so many instances, drawn at random by ``run.seed``.
    suggestions : str or Path, optional
        A file of suggested labels; without `sample`, the instances in it are reviewed. With neither, all are.
    text, text_field : optional
        As in `texts.read_texts`. Without texts, an instance is shown by its heaviest features.
    labels, features : str or Path, optional
        Files of names.
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
        data = read(source, reading, run)
        digits = checksum(data.features)
    drawn = None if sample is None else worklist.draw(len(data), sample, run.seed)
    suggested = None
    if suggestions is not None:
        suggested = worklist.read_suggestions(suggestions, data, source, digits)
    wanted = worklist.choose(len(data), drawn, suggested)
    if not wanted:
        raise InputError(str(suggestions), None, "nothing is left to review: all is decided, or annotated already")
    work = worklist.make(
        data,
        source,
        digits=digits,
        sample=drawn,
        suggestions=suggested,
        texts=None if text is None else texts.read_texts(text, set(wanted), len(data), text_field),
        label_names=None if labels is None else _label_names(labels, data.labels.shape[1] - 1),
        feature_names=None if features is None else texts.read_names(features),
    )
    with open_output(target) as out:
        out.write(label_studio.tasks(work) if label_studio_tasks else page(work))
    n_suggested = sum(len(item.suggested) for item in work.items)
    return Report(len(work.items), n_suggested, len(work.labels.numbers))


def import_label_studio(source: str | Path, target: str | Path, *, labels: str | Path | None = None) -> ImportReport:
    """Write a review file of what was decided in Label Studio.

    Parameters
    ----------
    source, target : str or Path
        Its export, and the review file.
    labels : str or Path, optional
        A file of label names, by which annotators may have named further labels.

    Raises
    ------
    InputError
        As `label_studio.read_export`.
    MpuError
        `target` cannot be written.
    """
    names = None
    if labels is not None:
        all_names = texts.read_names(labels)
        of_one = {name for name, count in Counter(all_names).items() if count == 1}
        names = {name: number for number, name in enumerate(all_names, 1) if name in of_one}
    export = label_studio.read_export(source, names)
    cells = np.array([row[:2] for row in export.rows], np.int64).reshape(-1, 2)
    with open_output(target) as out:
        decisions.write(
            out,
            cells[:, 0],
            cells[:, 1],
            verdict=[verdict for _, _, verdict, _ in export.rows],
            source=[kind for _, _, _, kind in export.rows],
            of=export.file,
            checksum=export.checksum,
        )
    closed = int(np.count_nonzero(cells[:, 1] == NOTHING_ELSE))
    return ImportReport(export.tasks, export.open_tasks, len(cells), closed)


def _label_names(path: str | Path, largest: int) -> list[str]:
    names = texts.read_names(path)
    if len(names) < largest:
        raise InputError(
            str(path), None, f"has no name for label {largest}: line k names label k, of {len(names)} lines"
        )
    return names
