"""``mpu estimate-c``."""

from typing import TYPE_CHECKING, Any

import click

from mpu_cli.cli.messages import verbosity_options
from mpu_cli.cli.options import (
    Parsed,
    numbers_option,
    option,
    options_as_one,
    run_options,
    scores_option,
    training_files,
)
from mpu_cli.cli.printing import QUESTIONS, WIDE, give, json_option, print_groups, print_table
from mpu_cli.core.options import FrequencyOptions
from mpu_cli.errors import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpu_cli.commands.estimate_c import FrequencyReport, LabelFrequencyReport
    from mpu_cli.inputs.training_data import Sources
    from mpu_cli.runtime.run import Run


def _widths(text: str) -> tuple[float, ...]:
    """Return the numbers in a list such as ``0.1,0.05``."""
    try:
        widths = tuple(map(float, text.split(",")))
    except ValueError:
        raise ValueError(
            f"{text!r} is not a list of numbers such as 0.1,0.05; without numbers, --plan comes after FILE"
        ) from None
    if not all(0.001 <= width <= 1 for width in widths):
        raise ValueError("widths of intervals are from 0.001 to 1")
    return widths


@click.command("estimate-c")
@option(
    "--method",
    ("bbe", "e1", "e2", "e3"),
    "bbe: best bin, after Garg et al. (2021). e1, e2, e3: estimators of Elkan and Noto (2008).",
    default="bbe",
)
@option("--per-label", bool, "Also estimate the frequency of each label. Read the caution above first.")
@option(
    "-o, --output",
    click.Path(),
    "Write the label frequencies to a file for `mpu train --c`, which repeats the interval and the warnings in it.",
)
@option(
    "--plan [WIDTHS]",
    Parsed("widths", _widths),
    "Report how many instances to review, or questions to answer, for intervals of c of these widths: numbers "
    "from 0 to 1, separated by commas.",
    is_flag=False,
    flag_value="0.2,0.1,0.05,0.02",
    default=(),
)
@options_as_one(FrequencyOptions)
@numbers_option
@run_options("seed", "jobs", "kernel")
@training_files
@scores_option
@json_option
@verbosity_options
def estimate_c(
    sources: "Sources",
    output: str | None,
    method: str,
    options: FrequencyOptions,
    run: "Run",
    as_json: bool,
    **wanted: Any,
) -> None:
    """Estimate c, the share of the true labels that is annotated.

    c is the label frequency of FILE. Several FILEs are read as one.

    If some instances were drawn at random and completely reviewed (--reviewed; `mpu review --sample N` draws them), c
    is estimated from these, for each label. The same holds for a second file with complete label sets
    (--fully-labelled); the instances of both files should then come from the same source.

    Otherwise the estimate uses only the incomplete labels, by cross-validation. It assumes that every true label is
    annotated with the same chance. Where chances differ, it gives the frequency of the labels annotated best, and more
    labels are missing than it says; incomplete labels alone cannot show this. The best-bin method needs at least one
    label that the features predict well. If there is none, it also uses labels that are mostly annotated together,
    and usually prints a warning: c may then be too low, or, if it is close to 1, unknown. The 90 % interval is what
    annotations allow under this assumption: its lower end is found on other instances than bins are chosen on, and its
    upper end allows for labels that the features do not determine. Of e1, e2 and e3 it is a bootstrap over instances.

    The estimates of single labels (--per-label) are much less certain than c. They show which labels may be missing
    more often than others. The more labels agree on one frequency, the nearer they are to c. Their 90 % intervals
    allow for labels that the features cannot distinguish, and for different frequencies of labels; one wider
    than 0.5 is marked as unreliable. The estimated numbers of missing labels of all labels add
    up to the number that c implies.

    With `mpu train --c FILE`, such estimates raised micro-F1 by up to 7 points where labels were missing at different
    rates, and lowered it by up to 1 point elsewhere. Incomplete labels cannot show which case you have. So first
    compare both models on instances with complete labels. This does not apply to frequencies from another
    source.

    \b
    Example:
      mpu estimate-c news.svm
      mpu estimate-c news.svm --per-label --json
      mpu estimate-c news.svm --reviewed checked.tsv
      mpu estimate-c news.svm --plan
      mpu estimate-c news.svm --scores forest-oof.txt
    """
    from mpu_cli.commands import estimate_c as command
    from mpu_cli.runtime.files import refuse_overlaps

    if output == "-":
        raise click.UsageError("Standard output takes the report: give -o a file.")
    refuse_overlaps(sources.by_option(), {"--output": output})
    if sources.scores is not None and options.features is not None:
        raise click.UsageError("--scores stands in place of a model: leave out --features.")
    report = command.estimate(
        sources,
        command.Estimator(method=method, **vars(options)),
        output=output,
        run=run,
        **wanted,
    )
    give(report, as_json, _print_report)


def _print_report(report: "FrequencyReport") -> None:
    if report.c is None or report.missing is None or report.interval is None:
        click.echo("label frequency c  unknown: (nearly) every annotated instance has exactly one label")
        click.echo(f"                   it is {report.c_if_one_label_each:.3f} if {report.assumption}")
        click.echo("missing labels     unknown")
        click.echo(f"to find out        answer 40 questions, or what --plan says: {QUESTIONS}")
    else:
        _print_frequency(report, report.c, report.missing, report.interval)
    if report.plan:
        click.echo()
        header = ["interval of c, width", "instances to review", "or questions"]
        # Beyond these, what is assumed of scores may be wrong by more.
        few = {row.width: row.questions for row in report.plan_of_questions or ()}
        widths = [[str(row.width), row.instances, few.get(row.width, "none are enough")] for row in report.plan]
        print_table([header, *widths])
    print_groups(report.per_group)
    if report.per_label is not None:
        _print_labels(report.per_label, "" if report.c is not None else f"if {report.assumption}")


def _print_frequency(report: "FrequencyReport", c: float, missing: float, interval: "Sequence[float]") -> None:
    low, high = interval
    by_people = [counted(report.answers, "answer") + f", {report.yes:,} of them yes"] if report.answers else []
    if report.complete_instances is not None:
        by_people.append(f"{counted(report.complete_instances, 'instance')} with complete label sets")
    if not by_people and high - low > WIDE:
        click.echo(f"first of all       answer 40 questions, since annotations alone leave c open: {QUESTIONS}")
    click.echo(f"label frequency c  {c:.3f}   (90 % interval {low:.3f} to {high:.3f})")
    at_least = " or more" * (report.assumption is not None and report.predictable)
    click.echo(f"missing labels     {1 - c:.1%}, about {missing:,.0f}{at_least}")
    if not by_people:
        used = f"{report.labels_used:,} of {counted(report.labels, 'label')}"
        distinguished = " that features distinguish best" * (
            report.method == "bbe" and report.labels_used < report.labels
        )
        click.echo(f"rests on           {used}{distinguished} (method {report.method})")
        click.echo(f"assumes            {report.assumption}")
        click.echo(f"to check it        answer 40 questions, or what --plan says: {QUESTIONS}")
        return
    click.echo(f"rests on           {'; '.join(by_people)}")
    click.echo("assumes            that these were drawn at random and are right")
    if report.by_annotations_alone is not None:
        click.echo(f"annotations alone  {report.by_annotations_alone:.3f}")
    if report.next_width is not None:
        click.echo(
            f"{counted(report.answers or 0, 'more answer')} would make the interval about {report.next_width:.3f} "
            f"wide; now it is {high - low:.3f}"
        )


def _print_labels(labels: "list[LabelFrequencyReport]", condition: str) -> None:
    named = any(row.name is not None for row in labels)
    rows = [
        [
            row.label,
            *[row.name] * named,
            row.annotations,
            row.c,
            *row.interval,
            f"{row.missing:,.1f}",
            "pooled: few annotations" if row.pooled else "unreliable" * row.unreliable,
        ]
        for row in labels
    ]
    click.echo()
    if condition:
        click.echo(condition)
    print_table([["label", *["name"] * named, "annotations", "c", "from", "to", "missing", ""], *rows])
