"""``mpu predict``."""

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mpu_cli.cli.messages import detail, info, verbosity_options, warn
from mpu_cli.cli.options import (
    FILE,
    PATH,
    cluster_options,
    numbers_option,
    option,
    reading_options,
    run_options,
    suggestible_options,
)
from mpu_cli.cli.progress import counting
from mpu_cli.errors import counted
from mpu_cli.runtime.options import PROBABILITY, Whole
from mpu_cli.svmlight.grammar import MAX_ID, Reading
from mpu_cli.text.records import FORMATS, format_of

if TYPE_CHECKING:
    from mpu_cli.bundle import TrainedModel
    from mpu_cli.cluster.on_cluster import OnCluster
    from mpu_cli.commands.predict import Output, PredictionReport
    from mpu_cli.runtime.run import Run


@click.command("predict")
@click.argument("model", type=PATH)
@click.argument("sources", metavar="[FILE]...", nargs=-1, type=FILE)
@option(
    "--text TEXT",
    str,
    "Predict the labels of this text in place of FILE. Can be repeated.",
    name="texts",
    multiple=True,
)
@option(
    "--text-format",
    FORMATS,
    "FILE has texts, in this format. Default: by the suffix of its name; with another one, it has vectors.",
    name="text_form",
)
@option(
    "-o, --output OUT",
    FILE,
    "Output file. Default: standard output. Of several FILEs, or if it ends in /, a directory, in which the "
    "predictions of each FILE get its name.",
    default="-",
    show_default=False,
)
@option(
    "--format",
    ("labels", "scores", "both", "jsonl", "tsv"),
    "labels: lines such as 3,7. scores: lines such as 3:0.91 7:0.5, most probable label first; the "
    "first one ends in the thresholds of the model, # threshold 0.31, for `mpu evaluate`. both: the labels, "
    "then the scores of all, 3 3:0.91 7:0.5, from which `mpu evaluate` has all of its metrics. jsonl: objects with "
    "id, labels by name and probabilities, most probable first. tsv: a table with a line for each label.",
    name="form",
    default="labels",
)
@option(
    "--top-k",
    Whole(1, MAX_ID + 1),
    "Write at most this many labels per instance, the most probable ones.",
)
@option(
    "--threshold",
    PROBABILITY,
    "Write labels with at least this probability. Default: the thresholds of the model; for scores and both, and "
    "for jsonl and tsv with --top-k, all labels; of more than 500 labels, the 20 most probable ones of an instance "
    "(more if instances have many).",
)
@option(
    "--line-buffered",
    bool,
    "Answer each line of FILE as soon as it comes, for a program at the other end of a pipe. This takes some "
    "25 times as long per line as a whole file does, and one thread.",
)
@option("--why", bool, "With --format jsonl: the features that speak most for each label, by name, as `why`.")
@option(
    "--fill-implied",
    bool,
    "Also write the broader labels that those of an instance imply, as probable as these, beyond --top-k: by the "
    "thesaurus of the training data, or its --implied RULES. For --format labels, jsonl and tsv.",
)
@suggestible_options
@numbers_option
@cluster_options
@reading_options
@run_options("jobs", "kernel")
@verbosity_options
def predict(
    model: Path,
    sources: tuple[str, ...],
    texts: tuple[str, ...],
    text_form: str | None,
    output: str,
    line_buffered: bool,
    on: "OnCluster | None",
    reading: Reading,
    run: "Run",
    **of_output: Any,
) -> None:
    """Predict the labels of FILE with MODEL, one line per instance.

    FILE is a LIBSVM file, plain or compressed, or - for standard input. Its labels are ignored. The memory needed does
    not grow with its size. Features that did not occur in training are ignored; a warning counts them. A FILE without
    instances gives an empty output and a warning.

    Several FILEs are predicted one after the other into a directory OUT, which is created if missing. The predictions
    of each have the name of FILE, compressed if FILE is, and appear there when they are complete; those of an earlier
    run are replaced.

    A MODEL of data that `mpu vectorize` made of texts takes texts too: FILE may be .jsonl, .csv or .tsv, with the same
    fields for text and id, or --text takes its place.

    \b
    Example:
      mpu predict news.mpu new.svm -o tags.txt
      zcat new.svm.gz | mpu predict news.mpu - --format scores --top-k 5
      mpu predict news.mpu part-*.svm.gz -o tags/
      mpu predict news.mpu part-*.svm.gz -o tags/ --cluster tcp://scheduler:8786
      mpu predict news.mpu new.svm --format jsonl --top-k 20
      mpu predict news.mpu new.jsonl --format jsonl
      mpu predict news.mpu --text "Digital television starts today" --format tsv

    jsonl has lines such as {"id": "17", "labels": ["Digital television"], "probabilities": [0.93]}. The id is that of
    the instance in new.text/ids if this file is beside new.svm, otherwise the number of the instance, from 1. Labels
    have the names of MODEL, or else their numbers. The table of tsv has the columns id, label and probability; a cell
    that a spreadsheet would read as a formula begins with an apostrophe.
    """
    from mpu_cli import bundle
    from mpu_cli.commands import predict as command
    from mpu_cli.commands.prediction_files import Texts, in_folder, making
    from mpu_cli.errors import shown
    from mpu_cli.runtime.files import refuse_overlaps, refuse_repeated
    from mpu_cli.svmlight.streams import as_one, refuse_unreadable

    if (not sources) == (not texts):
        raise click.UsageError("Give FILE, or texts by --text.")
    what = command.Output(**of_output)
    _refuse_combinations(what, on)
    names = sources or ("--text",)
    into_folder = bool(sources) and (len(sources) > 1 or output.endswith("/"))
    if into_folder and output == "-":
        raise click.UsageError("Predictions of several FILEs go to a directory: give -o OUT.")
    refuse_repeated("FILE", sources)
    in_out = in_folder(output, sources) if into_folder else {}
    targets: dict[str, str | Path] = {**in_out} if into_folder else {names[0]: output}
    called = (lambda what, path: f"{what} {path}") if into_folder else (lambda what, path: what)
    refuse_overlaps(
        {"MODEL": model, **what.suggestible.by_option(), **{called("FILE", source): source for source in sources}},
        {called("--output", target): target for target in targets.values()},
        ("MODEL",),
    )
    with counting("reading the model"):
        trained = bundle.load(model)
    refuse_unreadable([name for name in sources if not name or not Path(name).is_dir()])

    def has_texts(name: str) -> bool:
        return bool(texts) or text_form is not None or format_of(name) is not None or bool(name and Path(name).is_dir())

    if line_buffered and (output != "-" or has_texts(names[0])):
        raise click.UsageError("--line-buffered is for vectors, and for standard output.")
    if on is not None and (not into_folder or any(map(has_texts, names))):
        raise click.UsageError("With --cluster, FILEs have vectors, and predictions go to a directory: give -o OUT/.")
    # On a terminal, predictions and the line of progress would overwrite each other.
    to_terminal = output == "-" and sys.stdout is not None and sys.stdout.isatty()
    counts = command.PredictionReport()
    progress = (None, "instance") if on is None else (len(names), "file")
    with (
        making(Path(output), in_out.values()) if into_folder else nullcontext(),
        nullcontext(lambda _: None) if to_terminal else counting("predicting", *progress) as count,
    ):
        if on is not None:
            counts = command.predict_files(model, in_out, what, on=on, tick=lambda: count(1), reading=reading, run=run)
        for name, target in targets.items() if on is None else ():
            data = (
                Texts(trained.packed_vectorizer, name, texts, text_form, reading.max_line_bytes)
                if has_texts(name)
                else name
            )
            counts += command.predict(
                trained, data, target, what, line_buffered=line_buffered, count=count, reading=reading, run=run
            )
    if not counts.instances:
        warn(f"{shown(as_one(names))}: there are no instances, so nothing was predicted")
    _say(counts, trained)


def _say(counts: "PredictionReport", trained: "TrainedModel") -> None:
    """Print how the data fit the model, and how much was predicted."""
    for note in counts.fitness.notes():
        info(note, unknown=counts.fitness.unknown, entries=counts.fitness.entries)
    for warning in counts.fitness.warnings(trained):
        warn(warning, unknown=counts.fitness.unknown, entries=counts.fitness.entries)
    detail(
        f"{counted(counts.instances, 'instance')}, {counted(counts.labels, 'label')} written",
        instances=counts.instances,
        labels=counts.labels,
    )


def _refuse_combinations(what: "Output", on: "OnCluster | None") -> None:
    """Refuse options that exclude each other, or need others."""
    if what.why and (what.form != "jsonl" or on is not None):
        raise click.UsageError("--why needs --format jsonl, and is not for --cluster.")
    has_label_sets = what.form in ("labels", "jsonl", "tsv")
    if what.fill_implied and not has_label_sets:
        raise click.UsageError("--fill-implied is for --format labels, jsonl and tsv.")
