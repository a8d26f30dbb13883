"""``mpu evaluate``."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mpu_cli.cli.messages import verbosity_options, warn
from mpu_cli.cli.options import (
    FILE,
    Parsed,
    is_set,
    names_options,
    numbers_option,
    option,
    reading_options,
    reviewed_options,
    run_options,
)
from mpu_cli.cli.printing import json_option, print_table, show
from mpu_cli.cli.progress import counting
from mpu_cli.errors import STANDARD_STREAM, counted, one_line
from mpu_cli.runtime.options import (
    FREQUENCY,
    PROBABILITY,
    PROPENSITY_A,
    PROPENSITY_A_RANGE,
    PROPENSITY_B,
    PROPENSITY_B_RANGE,
    PerLabel,
)
from mpu_cli.svmlight.grammar import Reading

if TYPE_CHECKING:
    from mpu_cli.commands.evaluate import ComparisonReport, EvaluationReport, Quality
    from mpu_cli.names import Naming
    from mpu_cli.runtime.run import Run


# Options that say more about one file of predictions, and are refused for several.
_FOR_ONE = ("per_label", "training", "frequencies", "calibration", "calibration_plot", "reviewed", "labels")
_CUT = (
    "labels that score {:g} or more count as predicted, since these scores carry no threshold of a model, as those of "
    "`mpu predict` do; give --threshold, or label lists"
)


def _cutoffs(text: str) -> tuple[int, ...]:
    """Return the numbers in a list such as ``1,3,5``."""
    try:
        cutoffs = tuple(dict.fromkeys(map(int, text.split(","))))
    except ValueError:
        raise ValueError(f"{text!r} is not a list of whole numbers such as 1,3,5") from None
    if not all(1 <= k < 2**31 for k in cutoffs):
        raise ValueError("cut-offs are numbers of labels, from 1")
    return cutoffs


@click.command("evaluate")
@click.argument("files", metavar="TRUTH PREDICTIONS...", nargs=-1, required=True, type=FILE)
@option(
    "--predictions OUT",
    FILE,
    "Instead of PREDICTIONS, if TRUTH is several files: the directory that `mpu predict` has written for them, "
    "a model, or one file with all predictions. Can be repeated.",
    name="candidates",
    multiple=True,
)
@option("--metrics NAMES", str, "Report only these metrics, separated by commas. Their names are those in the report.")
@option("--per-label", bool, "Also report precision, recall and F1 of each label.")
@names_options("--label-names")
@numbers_option
@option(
    "--c",
    PerLabel(FREQUENCY),
    "Label frequency of TRUTH, if its labels are incomplete (see `mpu estimate-c`), or a file with that of each "
    "label. Precision, recall and F1, and precision and nDCG at k, on complete labels are then estimated, and reported "
    "next to the naive ones.",
)
@option(
    "--k NUMBERS",
    Parsed("numbers", _cutoffs),
    "Cut-offs k of precision, nDCG, recall and coverage at k. They need scores.",
    name="ks",
    default="1,3,5",
)
@option(
    "--training TRAIN.svm",
    FILE,
    "Also report propensity-scored precision and nDCG at k (PSP, PSnDCG). The propensity of a label comes from "
    "the number of its annotations in this file, by the model of Jain et al. (2016).",
)
@option(
    "--propensity-a",
    PROPENSITY_A_RANGE,
    "Constant A of this model. 0.5 was fitted to Wikipedia, 0.6 to Amazon.",
    default=PROPENSITY_A,
)
@option(
    "--propensity-b",
    PROPENSITY_B_RANGE,
    "Constant B of this model. 0.4 was fitted to Wikipedia, 2.6 to Amazon.",
    default=PROPENSITY_B,
)
@option(
    "--frequencies FILE",
    FILE,
    "In place of --training: report PSP and PSnDCG with the label frequency of each label as its propensity. The "
    "file has one line `label c` for each label, as `mpu estimate-c --output` writes it.",
)
@option(
    "--threshold",
    PROBABILITY,
    "For scores: a label counts as predicted if its score is at least this. (What `mpu predict` "
    "has written has the thresholds of the model, unless this is set.)",
    default=0.5,
)
@option(
    "--calibration",
    bool,
    "For scores: report the share of true labels among labels with similar scores. With --c, it is estimated on "
    "complete labels.",
)
@option(
    "--calibration-plot FILE", FILE, "Draw the calibration as a figure in FILE (.png or .svg). This needs matplotlib."
)
@reviewed_options(
    "Review file of TRUTH, whose labels may be incomplete. Compare only the instances that were drawn at random "
    "and completely reviewed, and report 90 % intervals. Their predictions should come from a model that has not seen "
    "them."
)
@reading_options
@run_options("kernel")
@json_option
@verbosity_options
def evaluate(
    files: tuple[str, ...],
    candidates: tuple[str, ...],
    metrics: str | None,
    naming: "Naming",
    c: float | Path | None,
    ks: tuple[int, ...],
    training: str | None,
    propensity_a: float,
    propensity_b: float,
    frequencies: str | None,
    threshold: float,
    reviewed: tuple[str, ...],
    reading: Reading,
    run: "Run",
    as_json: bool,
    **details: Any,
) -> None:
    """Compare PREDICTIONS with the labels of TRUTH.

    TRUTH is a data file. PREDICTIONS has one line per instance of TRUTH, as `mpu predict` writes it: a label list
    (3,7), scores (3:0.91 7:0.5), or both (3 3:0.91 7:0.5). A file whose lines are all empty counts as both. Either
    file may be compressed, or - for standard input. PREDICTIONS may also be a model: it predicts the instances of
    TRUTH, with its own thresholds.

    Metrics of label sets: precision, recall and F1, each as micro average, macro average (over labels) and samples
    average (over instances); Hamming loss; subset accuracy. Only labels that occur in a true or a predicted set count.

    Metrics of rankings, if PREDICTIONS has scores: precision, nDCG and recall at k, label ranking average precision,
    coverage error, one-error, and coverage at k, the share of the true labels that are retrieved among the first k of
    at least one instance. Labels without a score rank last and are never retrieved.

    TRUTH may be several files, which are read as one: then --predictions takes the place of PREDICTIONS. In a
    directory, the predictions for a file of TRUTH have the name of this file.

    Several PREDICTIONS, files and models, are compared with the first of them: by micro and macro averages over the
    labels that TRUTH has, whatever is predicted, by F1 averaged over instances, and, if all have scores, by precision
    and nDCG at k. Differences have 95 % intervals, by a paired bootstrap of the instances. They cover the choice of
    instances, and not the randomness of training. A verdict is by micro-F1, or by the first of --metrics.

    \b
    Example:
      mpu predict news.mpu test.svm -o tags.txt
      mpu evaluate test.svm tags.txt
      mpu evaluate test.svm tags.txt --metrics micro_f1,macro_f1 --json
      mpu evaluate incomplete.svm tags.txt --c 0.4
      mpu evaluate incomplete.svm scores.txt --c c.txt
      mpu evaluate test.svm scores.txt --calibration
      mpu evaluate test.svm scores.txt --training train.svm --k 1,3,5
      mpu evaluate incomplete.svm tags.txt --reviewed checked.tsv
      mpu evaluate test.svm old.mpu new.mpu tags.txt
      mpu evaluate part-*.svm.gz --predictions tags/
    """
    from mpu_cli.commands import evaluate as command
    from mpu_cli.runtime.files import refuse_overlaps, refuse_repeated
    from mpu_cli.svmlight.streams import as_one

    truths, predictions = (files, candidates) if candidates else (files[:1], files[1:])
    if not predictions:
        raise click.UsageError("Missing argument 'PREDICTIONS...'.")
    refuse_repeated("TRUTH", truths)
    truth = as_one(truths)
    inputs = {f"TRUTH {path}" if len(truths) > 1 else "TRUTH": path for path in truths} | {
        **_named(predictions),
        "--labels": naming.file,
        "--c": c if isinstance(c, Path) else None,
    }
    inputs |= {"--training": training, "--frequencies": frequencies}
    inputs |= {f"--reviewed {path}": path for path in reviewed}
    refuse_overlaps(inputs, {"--calibration-plot": details["calibration_plot"]})
    several = len(predictions) > 1
    if several:
        _refuse_for_several(truths)
    if reviewed and c is not None:
        raise click.UsageError("--reviewed and --c exclude each other: reviewed label sets are complete.")
    _refuse_propensities(training, frequencies)
    if naming.file is not None and not details["per_label"] and not reviewed and not isinstance(c, Path):
        raise click.UsageError("--labels needs --per-label, --reviewed or a file of --c.")
    names = metrics.split(",") if metrics is not None else None
    all_names = command.compared_metric_names(ks, c) if several else command.metric_names(ks)
    if unknown := [name for name in names or () if name not in all_names]:
        raise click.BadParameter(f"{unknown[0]!r} is not one of {', '.join(all_names)}.", param_hint="--metrics")

    least = threshold if is_set("threshold") else None
    wanted: dict[str, Any] = {"names": names, "c": c, "naming": naming, "ks": ks, "threshold": least}
    if several:
        with counting("evaluating", noun="instance") as count:
            compared = command.evaluate_several(
                truth, predictions, command.Metrics(**wanted), reading=reading, run=run, count=count
            )
        for name in compared.cut:
            warn(f"{name}: {_CUT.format(threshold)}")
        show(compared, as_json, print_comparison)
        return
    propensities = command.PropensitySource(training=training, a=propensity_a, b=propensity_b, frequencies=frequencies)
    detailed = command.DetailedMetrics(propensities=propensities, reviewed=reviewed, **wanted, **details)
    with counting("evaluating", noun="instance") as count:
        report = command.evaluate(truth, predictions[0], detailed, reading=reading, run=run, count=count)
    if report.threshold is not None and report.uses_label_sets and not is_set("threshold"):
        warn(_CUT.format(threshold))
    if not report.true_labels:
        warn("TRUTH has no labels")
    if report.corrected and report.corrected["clipped"]:
        warn(f"the estimate of precision exceeded 1 and was cut to 1: --c {c} is probably too small")
    show(report, as_json, _print_report)


def _named(predictions: tuple[str, ...]) -> dict[str, str]:
    """Return predictions by their names in messages; a file may be there twice."""
    first, *others = predictions
    return {"PREDICTIONS": first, **{f"PREDICTIONS {number}": name for number, name in enumerate(others, 2)}}


def _refuse_for_several(truths: tuple[str, ...]) -> None:
    for name in _FOR_ONE:
        if is_set(name):
            raise click.UsageError(f"--{name.replace('_', '-')} is for one PREDICTIONS, not for several.")
    if any(truth == STANDARD_STREAM or Path(truth).is_fifo() for truth in truths):
        raise click.UsageError("TRUTH is read again for each of several PREDICTIONS: it must be a file.")


def _refuse_propensities(training: str | None, frequencies: str | None) -> None:
    if training and frequencies:
        raise click.UsageError("--training and --frequencies exclude each other: both give propensities.")
    if not training and (constants := [name for name in ("propensity_a", "propensity_b") if is_set(name)]):
        raise click.UsageError(f"--{constants[0].replace('_', '-')} needs --training.")


def _print_report(report: "EvaluationReport") -> None:
    summary, corrected = report.summary(), report.corrected
    if corrected is None:
        print_table([[name, value] for name, value in summary.items()])
    else:
        print_table(
            [["", "naive", "corrected"], *([name, value, corrected.get(name, "")] for name, value in summary.items())]
        )
        if corrected["clipped_labels"]:
            cut = counted(corrected["clipped_labels"], "label")
            click.echo(f"\nEstimated precision exceeds 1 for {cut}. It is cut to 1, but not in the macro average.")
    if report.intervals:
        click.echo()
        print_table([["90 % interval", "from", "to"], *([name, *ends] for name, ends in report.intervals.items())])
    if report.calibration:
        calibration = report.calibration
        click.echo(
            f"\nThe scores add up to {calibration['expected']:,.1f} labels, and {calibration['true']:,.1f} are true; "
            f"bins are off by {calibration['error']:.1%} of these."
        )
        bins = [row for row in calibration["bins"] if row["scores"]]
        print_table([list(calibration["bins"][0]), *(list(row.values()) for row in bins)])
    if report.per_label:
        rows = [_flattened(**row) for row in report.per_label]
        click.echo()
        print_table([list(rows[0]), *(list(row.values()) for row in rows)])


def _flattened(corrected: "Quality | None" = None, **row: Any) -> dict[str, Any]:
    """Return a row with separate columns for the corrected values of a label."""
    return row | {f"corrected_{name}": value for name, value in (corrected or {}).items()}


def print_comparison(report: "ComparisonReport") -> None:
    """Print the metrics of each, a column each; the differences from the first, with intervals; and the verdicts."""
    sizes: dict[str, Any] = {"instances": report.instances, "labels": report.labels}
    sizes |= {} if report.c is None else {"c": report.c}
    print_table([[name, value] for name, value in sizes.items()])
    click.echo()
    rows = [[metric, *(of.metrics[metric] for of in report.evaluated)] for metric in report.evaluated[0].metrics]
    names = [of.name for of in report.evaluated]
    print_table([["on complete labels" if report.c is not None else "", *names], *rows])
    for compared in report.compared:
        click.echo()
        table = [
            [metric, *(f"{value:+z.4f}" for value in (difference.value, difference.low, difference.high))]
            for metric, difference in compared.differences.items()
        ]
        print_table([[f"{compared.name} minus {compared.compared_with}", "difference", "95 % from", "to"], *table])
    click.echo()
    for compared in report.compared:
        click.echo(one_line(compared.verdict))
