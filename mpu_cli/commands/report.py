"""Report what is missing from a file, for those who have to decide about it: ``mpu report``.

The page is HTML: one file without network or scripts, to be read, printed and sent. Names of labels, groups and records
are not trusted: they are escaped, and the policy of the page allows nothing but its own style.
"""

import csv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from html import escape
from io import StringIO
from pathlib import Path
from typing import Annotated, Any

from mpu_cli.commands import complete, estimate_c
from mpu_cli.core.complete.suggestions import Choice
from mpu_cli.core.options import Options
from mpu_cli.errors import counted, one_line, shown
from mpu_cli.inputs.training_data import Sources
from mpu_cli.names.lines import cell
from mpu_cli.review.page import digest
from mpu_cli.runtime.files import refuse_overlaps
from mpu_cli.runtime.report import Count, Share, as_json
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.svmlight.streams import open_output, refuse_unwritable
from mpu_cli.version import __version__

COLUMNS = ("of", "number", "name", "annotations", "missing", "low", "high")


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """A label that is probably missing from an instance."""

    instance: Annotated[int, ("minimum", 1)]  #: From 1.
    id: str | None = None  #: Of the record.
    label: Count
    name: str | None = None  #: Of the label.
    probability: Share


@dataclass(frozen=True, kw_only=True)
class MissingLabelsReport:
    """What is missing."""

    #: The share that is missing, as `mpu estimate-c` reports it.
    frequency: Annotated[estimate_c.FrequencyReport, ("$ref", "estimate-c.schema.json")]
    #: How many labels are missing, as `mpu complete` reports it.
    missing: Annotated[complete.CompletionReport, ("$ref", "complete.schema.json")]
    suggestions: list[Suggestion]  #: The most probable missing labels, the most probable first.

    @property
    def warnings(self) -> list[str]:
        """What to know before using the numbers."""
        return list(self.missing.warnings)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a table of `COLUMNS`: of all labels together, of each group, of each label.

        Where c is unknown, what is missing is the empty string.
        """
        found, c = self.missing, self.frequency

        def numbers(*numbers: float) -> tuple[float | str, ...]:
            return ("",) * len(numbers) if c.c is None else numbers

        total = numbers(found.missing, found.missing_low, found.missing_high)
        yield "all", "", "", int(found.annotations.sum()), *total
        for group in c.per_group or ():
            low, high = (group["annotations"] * (1 / rate - 1) for rate in reversed(group["interval"]))
            yield "group", "", cell(group["group"]), group["annotations"], group["missing"], low, high
        for (label, of), annotations in zip(found.per_label.items(), found.annotations.tolist(), strict=True):
            name = "" if of.name is None else cell(of.name)
            yield "label", label, name, annotations, *numbers(of.missing, of.low, of.high)


def report(
    sources: Sources, target: str | Path, *, table: str | Path | None = None, top: int = 50, run: Run = DEFAULT_RUN
) -> MissingLabelsReport:
    """Estimate what is missing as `complete.complete` does, and write a page about it.

    `target`: the page, which is HTML.
    `table`: where to write `MissingLabelsReport.rows` as CSV.
    `top`: how many suggestions the page lists.
    Raises InputError (a file cannot be read), MpuError (the data cannot be learned from, or an output cannot be
    written).
    """
    inputs = sources.by_option()
    refuse_overlaps(inputs, {"--output": target, "--csv": table, "--cache": sources.cache})
    refuse_unwritable(target, table)
    missing = complete.complete(sources, complete.Outputs(), Options(), Choice(top=top), run=run)
    assert missing.frequency is not None  # the options have none
    made = MissingLabelsReport(frequency=missing.frequency, missing=missing, suggestions=list(_suggestions(missing)))
    with ExitStack() as stack:
        out, *more = (stack.enter_context(open_output(file)) for file in (target, table) if file is not None)
        out.write(page(str(sources.file), as_json(made), list(made.rows()), made.warnings))
        for of_table in more:
            text = StringIO()
            csv.writer(text, lineterminator="\n").writerows([COLUMNS, *made.rows()])
            of_table.write(text.getvalue().encode(errors="replace"))
    return made


def _suggestions(missing: complete.CompletionReport) -> Iterator[Suggestion]:
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


_MOST_LABELS = 50
_WIDTH, _HEIGHT = 200, 14  # of a bar, in pixels
_STYLE = """
body { font: 11pt/1.45 system-ui, "Segoe UI", "Noto Sans", sans-serif; color: #1d2125; background: #fff;
  max-width: 60rem; margin: 1.5rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 1.75rem 0 .5rem; break-after: avoid; }
.lead { font-size: 1.25rem; margin: .75rem 0 .25rem; }
.warning { border-left: .25rem solid #7a5a00; padding-left: .75rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
caption { text-align: left; color: #4d555d; margin-bottom: .25rem; }
th, td { text-align: left; vertical-align: top; padding: .2rem .75rem .2rem 0; border-bottom: 1px solid #d9dbdd; }
th { font-weight: 600; }
td:first-child { min-width: 9rem; overflow-wrap: anywhere; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
td.number { white-space: nowrap; }
svg { display: block; }
.there { fill: #1f5f99; }
.missing { fill: #fff; stroke: #1f5f99; }
.interval { stroke: #1d2125; }
tr { break-inside: avoid; }
footer { margin-top: 2rem; color: #4d555d; }
@media print { body { margin: 0; max-width: none; font-size: 9.5pt; } .wide { overflow: visible; } }
"""


def page(source: str, report: dict[str, Any], rows: Sequence[tuple[Any, ...]], warnings: Iterable[str]) -> bytes:
    """Return the page on some data, of a report as JSON values with its rows."""
    c = report["frequency"]
    title = f"Missing labels in {one_line(Path(shown(source)).name)}"
    groups = [row for row in rows if row[0] == "group"]
    labels = sorted((row for row in rows if row[0] == "label"), key=lambda row: -row[3])[:_MOST_LABELS]
    parts = [
        f"<h1>{escape(title)}</h1>",
        *_lead(c, rows[0]),
        *(f'<p class="warning">{escape(warning)}</p>' for warning in warnings),
    ]
    if groups:
        groups.sort(key=lambda row: -row[4] / max(row[3] + row[4], 1))
        parts += ["<h2>By group</h2>", _bars("group", groups, "The group with the largest share missing first.")]
    caption = f"{counted(len(labels), 'label')}, the most frequent first."
    if "assumption" in c and not groups:
        caption += " By one label frequency for all of them, so shares differ only by what was reviewed."
    if "c" in c:
        parts += ["<h2>By label</h2>", _bars("label", labels, caption)]
    parts += ["<h2>The most certain suggestions</h2>", _certain(report["suggestions"])]
    if decided := list(_decided(c, report["missing"])):
        parts += ["<h2>What the review says</h2>", *decided]
    parts += ["<h2>How this was computed</h2>", _method(c)]
    parts.append(f"<footer>Made by mpu {escape(__version__)}: mpu report {escape(one_line(shown(source)))}</footer>")
    policy = f"default-src 'none'; style-src '{digest(_STYLE)}'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(parts)
        + "\n</main>\n</body>\n</html>\n"
    ).encode(errors="replace")


def _lead(c: dict[str, Any], total: tuple[Any, ...]) -> list[str]:
    annotations, missing = total[3], total[4]
    there = f"{counted(c['instances'], 'record')} with {counted(annotations, 'label')}"
    if "c" not in c:
        return [
            '<p class="lead">How many labels are missing is <strong>unknown</strong>.</p>',
            f"<p>{there}: (nearly) every annotated record has exactly one, which does not show whether others are "
            "missing. Forty answers tell (mpu complete --questions 40).</p>",
        ]
    low, high = (1 - rate for rate in reversed(c["interval"]))
    at_least = " or more" * ("assumption" in c and c["predictable"])
    counts = f"{there}; about {missing:,.0f}{at_least} are true and not annotated."
    if "assumption" in c:
        counts += " The interval covers only the sampling of records; what it rests on stands at the end."
    return [
        f'<p class="lead"><strong>{_share(c["missing_rate"])}</strong>{at_least} of the true labels are missing '
        f"(90 % interval {_share(low)} to {_share(high)}).</p>",
        f"<p>{counts}</p>",
    ]


def _share(share: float) -> str:
    return f"{100 * share:.1f} %"


def _bars(kind: str, rows: Sequence[tuple[Any, ...]], caption: str) -> str:
    """Return a table with a bar in each row: what is there, what is missing, and the interval of that."""
    most = max((row[3] + max(row[4], row[6]) for row in rows), default=1) or 1
    cells = [
        [
            escape(str(name or number)),
            f"{there:,}",
            f"{missing:,.1f}",
            f"{low:,.0f} to {high:,.0f}",
            _share(missing / max(there + missing, 1e-9)),
            _bar(there / most, missing / most, low / most, high / most),
        ]
        for _, number, name, there, missing, low, high in rows
    ]
    header = [kind, "annotated", "missing", "90 % interval", "share missing", "filled: annotated; outlined: missing"]
    return _table(header, cells, caption, numbers=range(1, 5))


def _bar(there: float, missing: float, low: float, high: float) -> str:
    x, width, left, right = (round(part * _WIDTH, 1) for part in (there, missing, there + low, there + high))
    middle = _HEIGHT / 2
    return (
        f'<svg width="{_WIDTH + 2}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH + 2} {_HEIGHT}" aria-hidden="true">'
        f'<rect class="there" width="{x}" height="{_HEIGHT}"/>'
        f'<rect class="missing" x="{x}" y=".5" width="{width}" height="{_HEIGHT - 1}"/>'
        f'<path class="interval" d="M{left} {middle}H{right}M{left} {middle - 3}v6M{right} {middle - 3}v6"/></svg>'
    )


def _certain(suggestions: Sequence[dict[str, Any]]) -> str:
    if not suggestions:
        return "<p>None.</p>"
    cells = [
        [
            escape(str(one.get("id", one["instance"]))),
            escape(str(one.get("name", one["label"]))),
            f"{one['probability']:.3f}",
        ]
        for one in suggestions
    ]
    caption = "Labels that records do not have and that are probably true, the most probable first."
    return _table(["record", "label", "probability"], cells, caption, numbers=[2])


def _decided(c: dict[str, Any], missing: dict[str, Any]) -> Iterable[str]:
    """Yield paragraphs on what people have decided: what it adds, and what is claimed before and after."""
    if review := missing.get("review"):
        yield (
            f"<p>{counted(review['decisions'], 'decision')}: {counted(review['found'], 'label')} added, "
            f"{counted(review['refuted'], 'label')} refused that the records have; "
            f"{counted(review['closed'], 'record')} completely reviewed.</p>"
        )
    if "by_annotations_alone" in c:
        before, after = 1 - c["by_annotations_alone"], c["missing_rate"]
        yield f"<p>Share missing by the annotated labels alone {_share(before)}; with the review {_share(after)}.</p>"
    if decided := missing.get("judged"):
        low, high = map(_share, decided["interval"])
        claimed, right = _share(decided["claimed"]), _share(decided["yes"] / decided["answered"])
        yield (
            f"<p>Of {counted(decided['answered'], 'suggestion')} that were decided, {claimed} were claimed right, "
            f"and {right} were ({low} to {high}); the probabilities above are corrected by that, "
            "which assumes that nobody chose what to decide by whether it is right.</p>"
        )


def _method(c: dict[str, Any]) -> str:
    """Return in three sentences how the numbers were computed; the last one is what they rest on."""
    here = c["c"] if "c" in c else c["c_if_one_label_each"]
    if "assumption" in c:
        rests = f"This assumes that {c['assumption']}; forty answers check it (mpu complete --questions 40)."
    else:
        answers, sets = c.get("answers"), c.get("complete_instances")
        by = [counted(answers, "answer")] if answers else []
        by += [f"{counted(sets, 'record')} with complete label sets"] if sets else []
        rests = f"The share comes from {' and '.join(by)} and assumes that these were drawn at random and are right."
    return (
        "<p>A classifier learned the annotated labels, and predicted each record without having seen it; where it is "
        f"sure, the share of records that have the label is the label frequency c, here {here:.3f}. The probability "
        "of a label that is not annotated, and the sums of these probabilities by label, follow from c and the "
        f"predictions, and their intervals hold if c is right. {escape(rests)}</p>"
    )


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], caption: str, numbers: Iterable[int]) -> str:
    """Return a table; cells are HTML, and the columns of `numbers` are aligned right."""
    of_column = [' class="number"' * (j in set(numbers)) for j in range(len(header))]
    head = "".join(f'<th scope="col"{kind}>{text}</th>' for text, kind in zip(header, of_column, strict=True))
    body = "\n".join(
        "<tr>" + "".join(f"<td{kind}>{text}</td>" for text, kind in zip(row, of_column, strict=True)) + "</tr>"
        for row in rows
    )
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
        f"<caption>{escape(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )
