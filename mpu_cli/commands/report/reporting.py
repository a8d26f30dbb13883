"""Report what is missing from a file, for those who have to decide about it: ``mpu report``."""

import csv
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Annotated, Any

from mpu_cli.commands.complete import completion, estimation
from mpu_cli.commands.report.page import page
from mpu_cli.core.complete.suggestions import Choice
from mpu_cli.core.options import Options
from mpu_cli.errors import STANDARD_STREAM, InputError
from mpu_cli.names.cells import cell
from mpu_cli.runtime.files import refuse_overlaps
from mpu_cli.runtime.report import Count, Share, as_json
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.svmlight.sources import files_of
from mpu_cli.svmlight.streams import open_output, refuse_unwritable
from mpu_cli.training.training_data import Sources

COLUMNS = ("of", "number", "name", "annotations", "missing", "low", "high")


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """A label that is probably missing from an instance.

    Attributes
    ----------
    instance : int
        From 1.
    id : str or None
        Of the record.
    name : str or None
        Of the label.
    """

    instance: Annotated[int, ("minimum", 1)]
    id: str | None = None
    label: Count
    name: str | None = None
    probability: Share


@dataclass(frozen=True, kw_only=True)
class Report:
    """What is missing.

    Attributes
    ----------
    frequency : estimation.Report
        The share that is missing, as `mpu estimate-c` reports it.
    missing : completion.Report
        How many labels are missing, as `mpu complete` reports it.
    suggestions : list of Suggestion
        The most probable missing labels, the most probable first.
    """

    frequency: Annotated[estimation.Report, ("$ref", "estimate-c.schema.json")]
    missing: Annotated[completion.Report, ("$ref", "complete.schema.json")]
    suggestions: list[Suggestion]

    @property
    def warnings(self) -> list[str]:
        """What to know before using the numbers, each once."""
        return list(dict.fromkeys([*self.frequency.warnings, *self.missing.warnings]))

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a table of `COLUMNS`: of all labels together, of each group, of each label."""
        found, c = self.missing, self.frequency
        total = found.missing, found.missing_low, found.missing_high
        yield "all", "", "", int(found.annotations.sum()), *total
        for group in c.per_group or ():
            low, high = (group["annotations"] * (1 / rate - 1) for rate in reversed(group["interval"]))
            yield "group", "", cell(group["group"]), group["annotations"], group["missing"], low, high
        for (label, of), annotations in zip(found.per_label.items(), found.annotations.tolist(), strict=True):
            name = "" if of.name is None else cell(of.name)
            yield "label", label, name, annotations, of.missing, of.low, of.high


def report(
    sources: Sources, target: str | Path, *, table: str | Path | None = None, top: int = 50, run: Run = DEFAULT_RUN
) -> Report:
    """Estimate what is missing as `estimation.estimate` and `completion.complete` do, and write a page about it.

    Parameters
    ----------
    sources : Sources
        Files, since they are read twice.
    target : str or Path
        The page, which is HTML.
    table : str or Path, optional
        Where to write `Report.rows` as CSV.
    top : int
        How many suggestions the page lists.
    run : Run

    Raises
    ------
    InputError
        A file cannot be read, or not twice.
    MpuError
        The data cannot be learned from, or an output cannot be written.
    """
    inputs = sources.by_option()
    refuse_overlaps(inputs, {"--output": target, "--csv": table, "--cache": sources.cache})
    refuse_unwritable(target, table)
    if STANDARD_STREAM in files_of(sources.file):
        raise InputError(STANDARD_STREAM, None, "the data are read twice; give a file")
    frequency = estimation.estimate(sources, run=run)
    missing = completion.complete(sources, completion.Outputs(), Options(), Choice(top=top), run=run)
    made = Report(frequency=frequency, missing=missing, suggestions=list(_suggestions(missing)))
    with ExitStack() as stack:
        out, *more = (stack.enter_context(open_output(file)) for file in (target, table) if file is not None)
        out.write(page(str(sources.file), as_json(made), list(made.rows()), made.warnings))
        for of_table in more:
            text = StringIO()
            csv.writer(text, lineterminator="\n").writerows([COLUMNS, *made.rows()])
            of_table.write(text.getvalue().encode(errors="replace"))
    return made


def _suggestions(missing: completion.Report) -> Iterator[Suggestion]:
    ids, names, cells = missing.record_ids, missing.names, missing.cells
    for row, label, probability in zip(
        cells.rows.tolist(), missing.ids[cells.columns].tolist(), cells.probabilities.tolist(), strict=True
    ):
        yield Suggestion(
            instance=row + 1,
            id=None if ids is None else ids.texts[row],
            label=label,
            name=None if names is None else names.name(label),
            probability=probability,
        )
