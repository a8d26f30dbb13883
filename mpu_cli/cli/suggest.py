"""``mpu suggest``."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from mpu_cli.cli.messages import detail, info, verbosity_options
from mpu_cli.cli.options import (
    FILE,
    PATH,
    label_features_option,
    numbers_option,
    option,
    options_as_one,
    run_options,
    scores_option,
    suggestible_options,
    training_files,
)
from mpu_cli.cli.printing import give, json_option
from mpu_cli.core.options import LINEAR, RBF, Options
from mpu_cli.errors import counted
from mpu_cli.runtime.options import MOST_INSTANCES, PROBABILITY, Whole
from mpu_cli.svmlight.grammar import MAX_ID

if TYPE_CHECKING:
    from mpu_cli.commands.estimate_c import Asked
    from mpu_cli.commands.suggest import SuggestionReport
    from mpu_cli.inputs.training_data import Sources
    from mpu_cli.runtime.run import Run


@click.command("suggest")
@option("-o, --output", FILE, "Default: standard output.", name="target", default="-", show_default=False)
@option(
    "--format",
    ("list", "svm"),
    "list: the missing labels, the most probable first, as a review file. svm: FILE, a single one, with labels "
    "filled in.",
    name="form",
    default="list",
)
@option("--top N", Whole(1, MOST_INSTANCES), "The N most probable of all.")
@option("--min-probability P", PROBABILITY, "List only labels of at least this probability.")
@option("--per-instance K", Whole(1, MAX_ID + 1), "The K most probable of each instance.")
@option(
    "--questions N",
    Whole(1, MOST_INSTANCES),
    "Draw N questions instead of suggestions: cells whose answers are evidence of the label frequency c.",
)
@option("--fill-implied", bool, "With --format svm: fill in what the labels of an instance imply.")
@option("--why", bool, "Beside each suggestion, list the features of the instance that speak most for it.")
@option(
    "--suspects WRONG.tsv",
    FILE,
    "List annotated labels that are probably false, the least probable first, in a file of their own.",
)
@option(
    "--oof FILE",
    PATH,
    "Also write the out-of-fold predictions, from features alone, to FILE, as `mpu train --oof` does.",
    name="out_of_fold",
)
@option("--model MODEL", PATH, "Save the model that was trained, a directory.")
@suggestible_options
@numbers_option
@options_as_one(Options)
@run_options("seed", "jobs", "kernel")
@training_files
@label_features_option
@scores_option
@json_option
@verbosity_options
def suggest(
    sources: "Sources",
    form: str,
    top: int | None,
    min_probability: float | None,
    per_instance: int | None,
    questions: int | None,
    fill_implied: bool,
    options: Options,
    run: "Run",
    as_json: bool,
    **of_outputs: Any,
) -> None:
    """Find the labels that are missing from FILE.

    Trains as `mpu train` does, predicts every instance by models that have not seen it, and lists labels that are not
    annotated, the most probable first: by the features of an instance and, of up to 500 labels, by the other labels
    that it has. The list is a review file with an empty column `verdict`, in which a person can decide; `mpu review`
    makes a page of it. Decisions of --reviewed files are used in training, and not listed again. Several FILEs are
    read as one: their instances are numbered through all of them, in their order.

    Without --top, --min-probability and --per-instance, all labels are listed that are probable enough to raise the
    expected F1 of the labels of FILE; --format svm fills in those that do. Of more than 500 labels, only the 20 most
    probable ones of an instance are considered (more if instances have many labels).

    --questions N lists questions instead of suggestions: N cells that are not annotated, drawn at random such that the
    answers estimate c best. The probability with which each was drawn is written beside it. Answer them in the file, or
    on the page of `mpu review --suggestions`. All commands with --reviewed then estimate c of each label from the
    answers. With --reviewed, --questions draws the next questions. No model is trained.

    --scores OOF takes out-of-fold scores of any other classifier, and trains no model. The scores are calibrated to
    probabilities (isotonic regression). c, the list and the report are made as without this option.

    \b
    Example:
      mpu suggest news.svm --top 1000 -o missing.tsv
      mpu suggest news.svm --questions 40 -o questions.tsv
      mpu suggest news.svm --reviewed checked.tsv --top 1000 -o more.tsv
      mpu suggest news.svm --format svm -o filled.svm
      mpu suggest news.svm --scores forest-oof.txt -o missing.tsv
    """
    from mpu_cli.commands import estimate_c
    from mpu_cli.commands import suggest as command
    from mpu_cli.core.suggest.suggestions import Choice

    outputs = command.Outputs(fill=form == "svm", **of_outputs)
    output, oof, model, why = outputs.target, outputs.out_of_fold, outputs.model, outputs.why
    if fill_implied and form != "svm":
        raise click.UsageError("--fill-implied needs --format svm.")
    if why and form == "svm":
        raise click.UsageError("--why is for a list.")
    if why:
        if options.features == RBF:
            raise click.UsageError(
                "--why lists features of the data, and a model with --features rbf has no weights of these."
            )
        options = replace(options, features=LINEAR)
    if str(oof) == "-":
        raise click.UsageError("Standard output takes the list or the report: give --oof a file.")
    if as_json and "-" in (output, outputs.suspects):
        raise click.UsageError("Standard output takes the report of --json: give -o, and --suspects, a file.")
    if questions is not None:
        others: dict[str, object] = {"--format": form != "list", "--top": top, "--min-probability": min_probability}
        others |= {"--per-instance": per_instance, "--suspects": outputs.suspects, "--oof": oof}
        others |= {"--model": model, "--why": why, "--label-features": sources.label_features}
        others |= outputs.suggestible.by_option()
        if unused := [name for name, value in others.items() if value]:
            raise click.UsageError(f"--questions trains no model and lists no suggestions: leave out {unused[0]}.")
        asked = estimate_c.ask(
            sources, output or "-", questions, validation=options, by_number=outputs.by_number, run=run
        )
        give(asked, as_json, _say_questions)
        return
    if sources.scores is not None:
        others = {"--oof": oof, "--model": model, "--why": why, "--label-features": sources.label_features}
        others["options of training"] = options != Options(c=options.c, folds=options.folds, sample=options.sample)
        if unused := [name for name, value in others.items() if value]:
            raise click.UsageError(f"--scores stands in place of a training: leave out {unused[0]}.")
    report = command.suggest(
        sources, outputs, options, Choice(top, min_probability, per_instance), fill_implied=fill_implied, run=run
    )
    give(report, as_json, _say)


def _say_questions(report: "Asked") -> None:
    before = f"; {counted(report.answered, 'answer')} before" if report.answered else ""
    info(
        f"{counted(report.questions, 'question')} on {counted(report.instances, 'instance')} and "
        f"{counted(report.labels, 'label')}{before}: write yes or no under verdict, and give the file to --reviewed"
    )


def _say(report: "SuggestionReport") -> None:
    decided = report.judged
    if decided is not None:
        low, high = decided.interval
        info(
            f"of {decided.answered:,} answered, claimed {decided.claimed:.3f}, {decided.yes:,} were yes "
            f"({decided.yes / decided.answered:.0%}, {100 * low:.0f} to {100 * high:.0f}); probabilities are corrected "
            "by that, which assumes that nobody chose what to answer by whether it is right"
        )
    frequency, unknown = report.frequency, ""
    sets = None if frequency is None else frequency.complete_instances
    by_people = [counted(report.answers, "answer")] if report.answers else []
    by_people += [f"{counted(sets, 'instance')} with complete label sets"] if sets else []
    by = f"by {' and '.join(by_people)}" if by_people else "if c is right"
    if frequency is not None and frequency.c_if_one_label_each is not None:
        unknown = "how many labels are missing is unknown; if each instance truly has one label only, "
    info(
        f"{unknown}about {report.missing:,.0f} labels are missing ({report.missing_low:,.0f} to "
        f"{report.missing_high:,.0f}, {by}); {report.listed:,} are listed, of which about {report.right:,.0f} are "
        f"right ({report.right_low:,.0f} to {report.right_high:,.0f})"
    )
    if report.listed_never_annotated:
        info(f"{report.listed_never_annotated:,} of those listed are of labels that are never annotated")
    if report.filled_in is not None:
        info(
            f"{counted(report.filled_in, 'label')} filled in; expected micro-F1 of the labels "
            f"{report.expected_f1_before:.3f} before, and {report.expected_f1_after:.3f} with the first "
            f"{counted(report.worth_filling_in, 'suggestion')}"
        )
    for label, of in report.per_label.items():
        name = "" if of.name is None else f" ({of.name})"
        detail(f"label {label}{name}: {of.missing:.1f} missing ({of.low:.0f} to {of.high:.0f})")
