"""``mpu complete``."""

from typing import TYPE_CHECKING

import click

from mpu_cli.cli.common import FREQUENCY, FiniteRange, json_option, print_json, reading_options, validation_options
from mpu_cli.cli.messages import detail, info, verbosity_options
from mpu_cli.cli.run_options import run_options
from mpu_cli.runtime.ranges import MOST_INSTANCES, MOST_LEVELS
from mpu_cli.svmlight.grammar import MAX_ID, Reading

if TYPE_CHECKING:
    from mpu_cli.commands.completion import Completion
    from mpu_cli.runtime.run import Run


@click.command("complete")
@click.argument("source", metavar="FILE", type=click.Path(allow_dash=True))
@click.option("-o", "--output", default="-", type=click.Path(allow_dash=True), help="Default: standard output.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["list", "svm"]),
    default="list",
    show_default=True,
    help="list: the missing labels, the most probable first, as a review file. svm: FILE with labels filled in.",
)
@click.option("--top", type=click.IntRange(1, MOST_INSTANCES), metavar="N", help="The N most probable of all.")
@click.option("--min-probability", type=FiniteRange(0, 1), metavar="P", help="Those of at least this probability.")
@click.option(
    "--per-instance", type=click.IntRange(1, MAX_ID + 1), metavar="K", help="The K most probable of each instance."
)
@click.option(
    "--reviewed",
    multiple=True,
    type=click.Path(),
    metavar="FILE",
    help="A review file: what somebody has checked is learned from, and not listed again. May be given several times.",
)
@click.option(
    "--implied",
    type=click.Path(),
    metavar="FILE",
    help="Two columns, a narrower and a broader label: what an annotated label implies is left out.",
)
@click.option(
    "--fill-implied", is_flag=True, help="With --format svm: fill in what is implied by the labels of an instance."
)
@click.option(
    "--suspects",
    type=click.Path(allow_dash=True),
    metavar="FILE",
    help="List annotated labels that are probably false too, the least probable first, in a file of their own.",
)
@click.option("--levels", type=click.IntRange(1, MOST_LEVELS), default=2, show_default=True, help="As for train.")
@click.option("--c", type=FREQUENCY, help="As for train. Default: estimated.")
@validation_options
@run_options("seed", "jobs", "kernel", "memory")
@reading_options
@json_option
@verbosity_options
def complete(
    source: str,
    output: str,
    form: str,
    top: int | None,
    min_probability: float | None,
    per_instance: int | None,
    reviewed: tuple[str, ...],
    implied: str | None,
    fill_implied: bool,
    suspects: str | None,
    levels: int,
    c: float | None,
    folds: int | None,
    sample: int,
    run: "Run",
    reading: Reading,
    as_json: bool,
) -> None:
    """Find the labels that are missing from FILE.

    Trains as `mpu train` does, predicts every instance by models that have not seen it, and lists labels that are not
    annotated, the most probable first: a review file with an empty column `verdict`, in which a person can decide.
    Without --top, --min-probability and --per-instance, all labels are listed that are probable enough to raise the
    expected F1 of the labels of FILE; --format svm fills in those that do.

    \b
    Example:
      mpu complete news.svm --top 1000 -o missing.tsv
      mpu complete news.svm --format svm -o filled.svm
    """
    from mpu_cli.commands import completion
    from mpu_cli.commands.implied import read_implications
    from mpu_cli.core.completion import Choice
    from mpu_cli.core.training import Options
    from mpu_cli.errors import InputError
    from mpu_cli.review import decisions, matching
    from mpu_cli.runtime.files import refuse_overlaps
    from mpu_cli.svmlight.reader import read

    if fill_implied and (implied is None or form != "svm"):
        raise click.UsageError("--fill-implied needs --implied and --format svm.")
    inputs = {"FILE": source, "--implied": implied} | {f"--reviewed {path}": path for path in reviewed}
    refuse_overlaps(inputs, {"--output": output, "--suspects": suspects})
    if form == "svm":
        completion.refuse_stream(source)
    implications = None if implied is None else read_implications(implied)
    with run.step("read"):
        data = read(source, reading, run)
    labels, ids = data.occurring_labels()
    known = None
    if reviewed:
        matched = matching.match(decisions.read(reviewed), data, source)
        labels, ids, known = matched.labels, matched.ids, matched.known
    if not len(ids):
        raise InputError(source, None, "no instance has a label, so there is nothing to learn")
    options = Options(levels=levels, c=c, folds=folds, sample=sample, known=known)
    choice = Choice(top, 0.0 if min_probability is None else min_probability, per_instance)
    found = completion.find(data.features, labels, ids, options, choice, implications, run)
    filled = None
    if form == "list":
        completion.write_list(output, found, data.features, source)
    else:
        most = found.worth if choice == Choice() else None
        filled = completion.write_filled(source, output, found, most, implications if fill_implied else None, reading)
    if suspects is not None:
        completion.write_suspects(suspects, found, data.features, source, top)
    report = completion_report(found, filled)
    if as_json:
        print_json(report)
        return
    info(
        f"about {report['missing']:,.0f} labels are missing ({report['missing_low']:,.0f} to "
        f"{report['missing_high']:,.0f}, if c is right); {report['listed']:,} are listed, of which about "
        f"{report['right']:,.0f} are right ({report['right_low']:,.0f} to {report['right_high']:,.0f})"
    )
    if filled is not None:
        info(
            f"{filled:,} labels are filled in; expected micro-F1 of the labels {found.f1_before:.3f} before, and "
            f"{found.f1_after:.3f} with the first {found.worth:,} suggestions"
        )
    for label, values in report["per_label"].items():
        detail(f"label {label}: {values['missing']:.1f} missing ({values['low']:.0f} to {values['high']:.0f})")


def completion_report(found: "Completion", filled: int | None) -> dict:
    """Report what is missing, a label and in all."""
    of_labels = (getattr(found.of_labels, name).tolist() for name in ("expected", "low", "high"))
    return {
        "missing": found.of_all.expected,
        "missing_low": found.of_all.low,
        "missing_high": found.of_all.high,
        "listed": len(found.listed),
        "right": found.right.expected,
        "right_low": found.right.low,
        "right_high": found.right.high,
        "worth_filling_in": found.worth,
        "filled_in": filled,
        "expected_f1_before": found.f1_before,
        "expected_f1_after": found.f1_after,
        "per_label": {
            str(label): {"missing": missing, "low": low, "high": high}
            for label, missing, low, high in zip(found.ids.tolist(), *of_labels, strict=True)
        },
    }
