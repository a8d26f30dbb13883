"""Report the missing labels of a file, for people who decide about them: ``mpu report``.

The page is HTML: one file without network access or scripts, to read, print and send. Names of labels, groups and
records are not trusted: they are escaped, and the page's security policy allows only its own style.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from csv import writer
from functools import partial
from io import StringIO
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np

from mpu_cli import __version__
from mpu_cli.bundle.writing import now
from mpu_cli.cli.actions import estimate_c, suggest
from mpu_cli.cli.actions.review import texts_of
from mpu_cli.cli.messages import info, output_report, present
from mpu_cli.cli.options import refuse_overlaps
from mpu_cli.core.options import Options
from mpu_cli.errors import counted, one_line, shown
from mpu_cli.inputs.training_data import TrainingFiles
from mpu_cli.names.lines import cell
from mpu_cli.people.posteriors import Choice
from mpu_cli.review.page import rendered
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.streams import open_output, refuse_unwritable
from mpu_cli.text.stored import Sidecars

Row = tuple[Any, ...]
COLUMNS = ("of", "number", "name", "annotations", "missing", "low", "high")


def rows_of(missing: suggest.Listed, c: dict[str, Any]) -> Iterator[Row]:
    """Yield the rows of a table with `COLUMNS`: for all labels together, for each group, for each label.

    All are of every record, as `mpu estimate-c` counts: missing labels that were found in complete ones are included.
    Unknown values are empty strings: the missing labels if c is unknown, and for labels that are never annotated, to
    which c does not apply; and the intervals of labels, unless c of each comes from people's decisions.
    """
    report, data, found, of_file = missing.report, missing.data, missing.found, slice(c["instances"])
    annotations_of = (found.there > found.added)[of_file].sum(axis=0).tolist()
    of_labels, of_all = estimate_c.missing_labels(missing.estimates, data) if "c" in c else (None, None)
    total: list[Any] = [None] * 3 if of_all is None else [*vars(of_all).values()]
    if _is_by_decisions(report, c):
        in_complete = found.added[of_file].nnz - found.found
        total = [report[name] + in_complete for name in ("missing", "missing_low", "missing_high")]

    def numbers(*numbers: float | None) -> tuple[float | str, ...]:
        return tuple("" if number is None or np.isnan(number) else number for number in numbers)

    yield "all", "", "", sum(annotations_of), *numbers(*total)
    for group in c.get("per_group", ()):
        ends = (group["annotations"] * (1 / rate - 1) for rate in reversed(group["interval"] or [np.nan] * 2))
        yield "group", "", group["group"], group["annotations"], *numbers(group["missing"], *ends)
    rows = zip(data.ids.tolist(), annotations_of, suggest.by_label(of_labels, found), strict=True)
    for label, annotations, counts in rows:
        yield "label", label, data.names.name(label) if data.names else "", annotations, *numbers(*counts)


def _is_by_decisions(missing: dict[str, Any], c: dict[str, Any]) -> bool:
    """Whether decisions on lists may have raised the number of missing labels above that by c."""
    return "judged" in missing and "assumption" in c


def _suggestions(missing: suggest.Listed, sources: TrainingFiles) -> Iterator[dict[str, Any]]:
    """Yield each suggestion, with the beginning of the text of its record as title."""
    data, names, cells = missing.data, missing.data.names, missing.found.listed
    ids, labels, wanted = data.record_ids, data.ids[cells.columns].tolist(), {*cells.rows.tolist()}
    texts = texts_of(None, (), Sidecars(sources.file), ids, wanted, data.instances_of_file)
    for row, label, probability in zip(cells.rows.tolist(), labels, cells.probabilities.tolist(), strict=True):
        yield present(
            instance=row + 1,
            id=None if ids is None else ids.texts[row],
            title=None if texts is None else shorten(texts.get(row, ("",))[0], 100, placeholder=" …"),
            label=label,
            name=names.name(label) if names else None,
            probability=probability,
        )


def _shares_missing(report: dict[str, Any], total: Row) -> Row:
    """Return the share missing, the ends of its interval, and a remark if decisions may have raised it."""
    c = report["frequency"]
    if _is_by_decisions(report["missing"], c):
        return *(missing / max(total[3] + missing, 1) for missing in total[4:]), ", by c and the decisions"
    return *(1 - rate for rate in (c["c"], *reversed(c["interval"]))), ""


_MOST_LABELS = 50


def page(source: str, missing: suggest.Listed, report: dict[str, Any], rows: list[Row]) -> bytes:
    """Return the page about some data: ``review/assets/report.html``."""
    estimated = [row for row in rows if row[4] != ""]
    groups = [row for row in estimated if row[0] == "group"]
    groups.sort(key=lambda row: -row[4] / max(row[3] + row[4], 1))
    labels = sorted((row for row in estimated if row[0] == "label"), key=lambda row: -row[3])[:_MOST_LABELS]
    c = report["frequency"]
    if "assumption" in c:
        basis = f"This assumes that {c['assumption']}; forty answers check it (mpu suggest --questions 40)."
    else:
        people = " and ".join(estimate_c.by_people(c)).replace("instance", "record")
        basis = f"The share comes from {people} and assumes that these were drawn at random and are right."
    return rendered(
        "report.html",
        counted=counted,
        share=lambda share: f"{100 * share:.1f} %",
        title=f"Missing labels in {one_line(Path(shown(source)).name)}",
        source=one_line(shown(source)),
        version=__version__,
        date=now()[:10],
        report=report,
        total=rows[0],
        shares=_shares_missing(report, rows[0]) if "c" in c else None,
        groups=groups,
        labels=labels,
        claim=missing.claim,
        basis=basis,
    )


def command(sources: TrainingFiles, output: Path, csv: Path | None, top: int, run: Run) -> None:
    refuse_overlaps(sources.by_option(), {"--output": output, "--csv": csv})
    refuse_unwritable(output, csv)
    missing = suggest.suggest(sources, Options(), Choice(top=top), run)
    assert missing.frequency is not None  # the options do not set c
    c = missing.frequency
    report = {
        "frequency": c,
        "missing": missing.report,
        "suggestions": list(_suggestions(missing, sources)),
        "warnings": missing.report["warnings"],
    }
    rows = list(rows_of(missing, c))
    with ExitStack() as stack:
        out, *more = (stack.enter_context(open_output(file)) for file in (output, csv) if file is not None)
        out.write(page(str(sources.file), missing, report, rows))
        for of_table in more:
            text = StringIO()
            cells = ((of, number, cell(name), *counts) for of, number, name, *counts in rows)
            writer(text, lineterminator="\n").writerows([COLUMNS, *cells])
            of_table.write(text.getvalue().encode(errors="replace"))
    output_report(report, partial(_print_summary, output, rows[0]))


def _print_summary(output: Path, total: Row, report: dict[str, Any]) -> None:
    c = report["frequency"]
    if "interval" not in c:
        info(f"how many labels are missing is unknown; see {output}")
        return
    share, low, high, remark = _shares_missing(report, total)
    by = remark or f", by {' and '.join(estimate_c.by_people(c)) or 'annotations alone'}"
    info(f"{share:.1%} of the true labels are missing (90 % interval {low:.1%} to {high:.1%}{by}); see {output}")
    if "advice" in c:
        info(c["advice"])
