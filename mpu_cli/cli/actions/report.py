"""Report what is missing from a file, for those who have to decide about it: ``mpu report``.

The page is HTML: one file without network or scripts, to be read, printed and sent. Names of labels, groups and records
are not trusted: they are escaped, and the policy of the page allows nothing but its own style.
"""

import csv
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from io import StringIO
from pathlib import Path
from textwrap import shorten
from typing import Any

import click
import numpy as np

from mpu_cli.bundle import provenance
from mpu_cli.cli.actions import estimate_c, suggest
from mpu_cli.cli.actions.review import texts_of
from mpu_cli.cli.messages import info
from mpu_cli.cli.printing import FIRST_OF_ALL, WIDE, output_report
from mpu_cli.core.options import Options
from mpu_cli.errors import counted, one_line, shown
from mpu_cli.inputs.training_data import Sources
from mpu_cli.names.lines import cell
from mpu_cli.people.suggestions import Choice
from mpu_cli.review.page import asset, digest
from mpu_cli.runtime.files import refuse_overlaps
from mpu_cli.runtime.report import as_json
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.streams import open_output, refuse_unwritable
from mpu_cli.text.sidecars import Sidecars
from mpu_cli.version import __version__

COLUMNS = ("of", "number", "name", "annotations", "missing", "low", "high")


@dataclass(frozen=True, kw_only=True)
class MissingLabelsReport:
    """What is missing."""

    # The share that is missing, as `mpu estimate-c` reports it.
    frequency: estimate_c.FrequencyReport
    # How many labels are missing, as `mpu suggest` reports it.
    missing: suggest.SuggestionReport
    # The most probable missing labels, the most probable first: instance (from 1), id of the record, label, name of the
    # label, probability.
    suggestions: list[dict[str, Any]]

    @property
    def warnings(self) -> list[str]:
        """What to know before using the numbers."""
        return list(self.missing.warnings)

    @property
    def first_of_all(self) -> str:
        """What to do first, where annotations alone leave c open; otherwise empty."""
        c = self.frequency
        is_open = c.assumption is not None and c.interval is not None and c.interval[1] - c.interval[0] > WIDE
        return FIRST_OF_ALL if is_open else ""

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a table of `COLUMNS`: of all labels together, of each group, of each label.

        What is unknown is the empty string: what is missing where c is unknown, and of a label that is never annotated,
        of which c says nothing; and intervals of labels, unless people tell c of each.
        """
        found, c = self.missing, self.frequency
        annotations_of = (found.found.annotated > found.found.confirmed).sum(axis=0).tolist()

        def numbers(*numbers: float | None) -> tuple[float | str, ...]:
            return tuple("" if number is None or np.isnan(number) else number for number in numbers)

        total = numbers(found.missing, found.missing_low, found.missing_high)
        yield "all", "", "", sum(annotations_of), *total
        for group in c.per_group or ():
            low, high = (group["annotations"] * (1 / rate - 1) for rate in reversed(group["interval"]))
            yield "group", "", group["group"], group["annotations"], group["missing"], low, high
        for (label, of), annotations in zip(found.per_label.items(), annotations_of, strict=True):
            counts = (of["missing"], of["low"], of["high"]) if annotations or of["missing"] else (None,) * 3
            yield "label", label, of.get("name", ""), annotations, *numbers(*counts)


def _suggestions(missing: suggest.SuggestionReport, sources: Sources) -> Iterator[dict[str, Any]]:
    """Yield each suggestion, with the beginning of the text of its record as title."""
    ids, names, cells = missing.record_ids, missing.names, missing.found.listed
    labels, wanted = missing.found.ids[cells.columns].tolist(), {*cells.rows.tolist()}
    n = missing.frequency.instances if missing.frequency else 0
    texts = texts_of(None, (), Sidecars(sources.file), ids, wanted, n, sources.reading.max_line_bytes)
    for row, label, probability in zip(cells.rows.tolist(), labels, cells.probabilities.tolist(), strict=True):
        of_record, name = None if ids is None else ids.texts[row], None if names is None else names.name(label)
        title = None if texts is None else shorten(texts.get(row, ("",))[0], 100, placeholder=" …")
        values = {"instance": row + 1, "id": of_record, "title": title, "label": label, "name": name}
        yield {of: value for of, value in values.items() if value is not None} | {"probability": probability}


_MOST_LABELS = 50


def page(source: str, made: MissingLabelsReport) -> bytes:
    """Return the page on some data: ``review/assets/report.html``."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # which nothing else needs

    report, rows = as_json(made), list(made.rows())
    groups = sorted((row for row in rows if row[0] == "group"), key=lambda row: -row[4] / max(row[3] + row[4], 1))
    estimated = (row for row in rows if row[0] == "label" and row[4] != "")
    labels = sorted(estimated, key=lambda row: -row[3])[:_MOST_LABELS]
    style, c = asset("report.css"), report["frequency"]
    environment = Environment(
        loader=PackageLoader("mpu_cli.review", "assets"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.globals |= {"counted": counted, "share": lambda share: f"{100 * share:.1f} %"}
    text = environment.get_template("report.html").render(
        title=f"Missing labels in {one_line(Path(shown(source)).name)}",
        source=one_line(shown(source)),
        version=__version__,
        date=provenance.now()[:10],
        style=style,
        digest=digest(style),
        c=c,
        total=rows[0],
        found=made.missing.missing_found,
        warnings=made.warnings,
        groups=groups,
        labels=labels,
        suggestions=report["suggestions"],
        claim=made.missing.claim,
        review=report["missing"].get("review"),
        judged=report["missing"].get("judged"),
        basis=_basis(c),
        first_of_all=made.first_of_all,
    )
    return text.encode(errors="replace")


def _basis(c: dict[str, Any]) -> str:
    """Return the sentence that says what the numbers rest on."""
    if "assumption" in c:
        return f"This assumes that {c['assumption']}; forty answers check it (mpu suggest --questions 40)."
    answers, sets = c.get("answers"), c.get("complete_instances")
    by = [counted(answers, "answer")] if answers else []
    by += [f"{counted(sets, 'record')} with complete label sets"] if sets else []
    return f"The share comes from {' and '.join(by)} and assumes that these were drawn at random and are right."


def command(sources: Sources, output: Path, table: Path | None, top: int, run: Run, as_json: bool) -> None:
    """Carry out the command, with what `mpu_cli.cli.commands` has read."""
    if "-" in (str(output), str(table)):
        raise click.UsageError("Standard output takes the report of --json: give -o, and --csv, a file.")
    refuse_overlaps(sources.by_option(), {"--output": output, "--csv": table})
    refuse_unwritable(output, table)
    missing = suggest.suggest(sources, suggest.Outputs(), Options(), Choice(top=top), run=run)
    assert missing.frequency is not None  # the options have none
    made = MissingLabelsReport(
        frequency=missing.frequency, missing=missing, suggestions=list(_suggestions(missing, sources))
    )
    with ExitStack() as stack:
        out, *more = (stack.enter_context(open_output(file)) for file in (output, table) if file is not None)
        out.write(page(str(sources.file), made))
        for of_table in more:
            text = StringIO()
            rows = ((of, number, cell(name), *counts) for of, number, name, *counts in made.rows())
            csv.writer(text, lineterminator="\n").writerows([COLUMNS, *rows])
            of_table.write(text.getvalue().encode(errors="replace"))
    output_report(made, as_json, partial(_print_summary, output))


def _print_summary(output: Path, report: MissingLabelsReport) -> None:
    c = report.frequency
    if c.interval is None:
        info(f"how many labels are missing is unknown; see {output}")
        return
    low, high = (1 - end for end in reversed(c.interval))
    info(f"{c.missing_rate:.1%} of the true labels are missing ({low:.1%} to {high:.1%}); see {output}")
    if report.first_of_all:
        info(report.first_of_all)
