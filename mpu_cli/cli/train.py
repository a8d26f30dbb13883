"""``mpu train``: its options, ``--accept-on``, and the help that lists them in groups."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mpu_cli.cli.messages import detail, is_quiet, verbosity_options
from mpu_cli.cli.options import (
    FILE,
    PATH,
    as_one,
    click_option,
    cluster_options,
    is_set,
    label_features_option,
    option,
    run_options,
    training_files,
)
from mpu_cli.cli.printing import give, json_option, print_report
from mpu_cli.cli.progress import by_name
from mpu_cli.commands.acceptance import Acceptance
from mpu_cli.core.loss import DEFAULT as DEFAULT_LOSS
from mpu_cli.core.options import RBF, Options
from mpu_cli.errors import STANDARD_STREAM, RejectedError
from mpu_cli.runtime.options import options_of

if TYPE_CHECKING:
    from mpu_cli.cluster.on_cluster import OnCluster
    from mpu_cli.commands.train import Saving
    from mpu_cli.inputs.training_data import Sources
    from mpu_cli.runtime.run import Run


def _acceptance(accept_on: str | None, **values: Any) -> Acceptance | None:
    if accept_on is None:
        if chosen := [name for name in values if is_set(name)]:
            raise click.UsageError(f"--{chosen[0].replace('_', '-')} needs --accept-on TEST.svm.")
        return None
    if accept_on == STANDARD_STREAM or Path(accept_on).is_fifo():
        raise click.UsageError("--accept-on is read again for each model: it must be a file.")
    return Acceptance(test=accept_on, **values)


_COMMON_TITLE = "Common options"


class GroupedCommand(click.Command):
    """A command with many options.

    `common`: the options that most need, by their long names with underscores: what they are comes first, in a
    sentence.
    `groups`: the options of each group.
    """

    def __init__(self, *args: Any, common: str, groups: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.common = common.split()
        self.groups = {title: names.split() for title, names in groups.items()}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the groups."""
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        records = {_long_name(option): option.get_help_record(ctx) or ("", "") for option in options}
        with formatter.section(_COMMON_TITLE):
            formatter.write_dl([(records[name][0], _first_words(records[name][1])) for name in self.common])
        for title, names in self.groups.items():
            with formatter.section(title):
                formatter.write_dl([records[name] for name in names])


def _long_name(option: click.Option) -> str:
    return max(option.opts, key=len).strip("-").replace("-", "_")  # of -h and --help, in no order in click 8.2 to 8.4


def _first_words(text: str) -> str:
    return re.split(r"[.:;] ", text, maxsplit=1)[0].removesuffix(".") + "."


_COMMON = "output c levels labels reviewed accept_on jobs quiet json help"
_GROUPS = {
    "Learning": "loss features levels cost eta0 epochs folds threshold seed",
    "Knowledge of the labels": "c groups reviewed on_conflict reviewed_wins fully_labelled implied labels zero_based "
    "label_features prior",
    "Replacing the model": "accept_on accept_margin accept_metric keep",
    "Large data": "sample jobs kernel",
    "Cluster": "cluster cluster_timeout",
    "Input": "implicit_values max_line_bytes",
    "Output": "output oof history json log_format quiet verbose help",
}
_EPILOG = """
FILE is a LIBSVM multi-label file, plain or compressed, or - for standard input. Several FILEs are read as one, in
their order; some of them may be empty. The label frequency c, C, the step size and the thresholds are chosen from the
incomplete labels. An existing model is replaced only when the new one is complete.

--c is a number, or a file with one line `label c` for each label. `mpu estimate-c --help` says how good estimates for
single labels are.

Training uses the names of labels if their words are features: in data that `mpu vectorize` has made of texts, or with a
file of --label-features. Labels that have a name there, and are never annotated, belong to the model too.
"""


@click.command("train", cls=GroupedCommand, common=_COMMON, groups=_GROUPS, epilog=_EPILOG)
@option("-o, --output MODEL", PATH, "The model, a directory. Default: the name of a single FILE with the suffix .mpu.")
@as_one("learning", Options, *map(click_option, options_of(Options).values()))
@option(
    "--oof FILE",
    PATH,
    "Also write out-of-fold predictions to FILE, of each instance by a model that has not seen it: labels and "
    "scores, as `mpu predict --format both` writes them. With more than --sample instances, all are then predicted, "
    "which takes longer, and the thresholds are chosen on all.",
)
@option(
    "--history FILE",
    PATH,
    "Add a line about this training to FILE, a JSON object. `mpu info --history FILE` lists and draws them.",
)
@as_one(
    "acceptance",
    _acceptance,
    option(
        "--accept-on TEST.svm",
        FILE,
        "Replace the model only if the new one is not worse on TEST.svm, whose labels are complete and which is "
        "not trained on. Otherwise the present one stays, and the exit status is 3.",
    ),
    *map(click_option, options_of(Acceptance).values()),
)
@cluster_options
@run_options("seed", "jobs", "kernel")
@training_files
@label_features_option
@json_option
@verbosity_options
def train(
    sources: "Sources",
    output: Path | None,
    learning: Options,
    oof: Path | None,
    on: "OnCluster | None",
    run: "Run",
    as_json: bool,
    **of_saving: Any,
) -> None:
    """Learn a model of FILE, some of whose labels may be missing.

    \b
    Example:
      mpu train news.svm                          # writes the model directory news.mpu
      mpu train news.svm.gz -o tags.mpu --c 0.4   # if you know that 40 % of the true labels are annotated
      mpu train part-*.svm.gz -o news.mpu         # learns from all of them
      mpu train part-*.svm.gz -o news.mpu --cluster tcp://scheduler:8786
      mpu train news.svm --levels 1 --json
      mpu train news.svm --reviewed checked.tsv   # with labels verified by people; see `mpu review`
      mpu train news.svm --accept-on test.svm --keep 5     # keeps the present model if the new one is worse
    """
    from dataclasses import replace

    from mpu_cli.commands import train as command
    from mpu_cli.svmlight.streams import Files

    if output is None:
        if sources.file == "-":
            raise click.UsageError("Standard input has no name to call the model after: give -o MODEL.")
        if isinstance(sources.file, Files):
            raise click.UsageError("Several FILEs have no one name to call the model after: give -o MODEL.")
        output = default_model(str(sources.file))
    elif str(output) == "-":
        raise click.UsageError("A model is a directory and cannot go to standard output: give -o MODEL.")
    saving = command.Saving(out_of_fold=oof, **of_saving)
    if "-" in map(str, (saving.out_of_fold, saving.history)):
        raise click.UsageError("Standard output takes the report: give --oof and --history a file.")
    if on is not None:
        _refuse_on_cluster(sources, saving, learning)
    done = command.train(sources, output, learning, on=on, saving=saving, run=run)
    seconds = by_name(done.seconds)
    detail("seconds: " + ", ".join(f"{step} {value:.2f}" for step, value in seconds.items()))
    give(replace(done, seconds=seconds), as_json, (lambda _: None) if is_quiet() else print_report)
    if done.acceptance is not None and not done.acceptance.accepted:
        stays = "stays" if output.exists() else "is not made"
        raise RejectedError(f"{output} {stays}: {done.acceptance.verdict}")


def _refuse_on_cluster(sources: "Sources", saving: "Saving", options: Options) -> None:
    """Raise UsageError where an option is not for a cluster."""
    from mpu_cli.svmlight.streams import files_of

    others = {
        "--features": options.features == RBF,
        "--loss": options.loss not in (None, DEFAULT_LOSS),
        "--reviewed": sources.reviewed,
        "--fully-labelled": sources.fully_labelled,
        "--implied": sources.implied,
        "--groups": sources.groups,
        "--label-features": sources.label_features,
        "--oof": saving.out_of_fold,
    }
    if unused := [name for name, value in others.items() if value]:
        raise click.UsageError(f"{unused[0]} and --cluster exclude each other; leave out one of the two.")
    if STANDARD_STREAM in files_of(sources.file):
        raise click.UsageError("Workers of a cluster cannot read standard input: give a file.")


def default_model(source: str) -> Path:
    """Name the model after the data: news.svm.gz gives news.mpu, beside it; a URL gives one in this directory."""
    from mpu_cli.runtime.urls import is_url
    from mpu_cli.svmlight.streams import stem

    return (Path() if is_url(source) else Path(source).parent) / f"{stem(source)}.mpu"
