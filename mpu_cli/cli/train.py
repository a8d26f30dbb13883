"""``mpu train``."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mpu_cli.cli.options import top_k_options
from mpu_cli.cli.options.execution import cluster_options, refuse_sources, run_options, shards_option, wait_option
from mpu_cli.cli.options.input_files import label_features_option, training_files
from mpu_cli.cli.options.training import GroupedCommand, acceptance_options, training_options
from mpu_cli.cli.output.messages import detail, is_quiet, verbosity_options
from mpu_cli.cli.output.progress import by_name
from mpu_cli.cli.output.reports import give, json_option, print_report
from mpu_cli.core.options import RBF
from mpu_cli.errors import RejectedError

if TYPE_CHECKING:
    from mpu_cli.cluster.address import OnCluster
    from mpu_cli.runtime.run import Run
    from mpu_cli.training.training_data import Sources


_COMMON = "output c levels labels reviewed accept_on resume jobs quiet json help"
_GROUPS = {
    "Learning": "method loss features levels cost eta0 epochs folds threshold top_k for stack_scale warm_start seed",
    "Knowledge of the labels": "c reviewed on_conflict reviewed_wins complete implied labels zero_based "
    "label_features prior",
    "Replacing the model": "accept_on accept_if accept_margin accept_metric accept_above keep resume wait",
    "Large data": "sample prune memory cache jobs kernel",
    "Cluster": "cluster shards cluster_timeout",
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
@click.option(
    "-o",
    "--output",
    metavar="MODEL",
    type=click.Path(path_type=Path),
    help="The model, a directory. Default: the name of a single FILE with the suffix .mpu.",
)
@training_options
@click.option(
    "--warm-start",
    metavar="MODEL",
    type=click.Path(path_type=Path),
    help="Start from the weights of an earlier model, with its C, step size and prior. Labels and features may have "
    "been added or removed since.",
)
@click.option(
    "--resume",
    is_flag=True,
    help="Save a checkpoint of each finished step in MODEL.resume until the model is saved, and load those of an "
    "interrupted training of the same data and options.",
)
@wait_option
@top_k_options(
    "With --for: also find decisions of so many labels per instance, for `mpu predict --top-k K --for AIM`.",
    "What decisions of --top-k labels are for: they have the largest expected sum of precision at K and of "
    "macro-F1, or of coverage, the share of labels that are predicted rightly at least once. All instances are "
    "predicted out of fold, as for --oof.",
)
@click.option(
    "--oof",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Also write out-of-fold predictions to FILE, of each instance by a model that has not seen it: labels and "
    "scores, as `mpu predict --format both` writes them. With more than --sample instances, all are then predicted, "
    "which takes longer, and the thresholds are chosen on all.",
)
@click.option(
    "--history",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Add a line about this training to FILE, a JSON object. `mpu info --history FILE` lists and draws them.",
)
@acceptance_options
@cluster_options
@shards_option
@run_options("seed", "jobs", "kernel", "memory")
@training_files
@label_features_option
@json_option
@verbosity_options
def train(
    sources: "Sources",
    output: Path | None,
    method: str,
    options: Any,
    warm_start: Path | None,
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
      mpu train news.svm --method elkan08 --c-method e3
      mpu train news.svm --top-k 5 --for macro-f1          # rare labels count as much as others
      mpu train news.svm --accept-on test.svm --keep 5     # keeps the present model if the new one is worse
    """
    from dataclasses import replace

    from mpu_cli.commands.train import training
    from mpu_cli.methods import DEFAULT
    from mpu_cli.svmlight.streams import Files

    if output is None:
        if sources.file == "-":
            raise click.UsageError("Standard input has no name to call the model after: give -o MODEL.")
        if isinstance(sources.file, Files):
            raise click.UsageError("Several FILEs have no one name to call the model after: give -o MODEL.")
        output = default_model(str(sources.file))
    elif str(output) == "-":
        raise click.UsageError("A model is a directory and cannot go to standard output: give -o MODEL.")
    saving = training.Saving(out_of_fold=oof, **of_saving)
    if "-" in map(str, (saving.out_of_fold, saving.history)):
        raise click.UsageError("Standard output takes the report: give --oof and --history a file.")
    if (saving.top_k is None) != (saving.aim is None):
        raise click.UsageError("--top-k and --for are given together.")
    if on is not None:
        refuse_sources(sources, method=method != DEFAULT and method, features=getattr(options, "features", None) == RBF)
    done = training.train(sources, output, options, method=method, on=on, warm_start=warm_start, saving=saving, run=run)
    seconds = by_name(done.seconds)
    detail("seconds: " + ", ".join(f"{step} {value:.2f}" for step, value in seconds.items()))
    give(replace(done, seconds=seconds), as_json, (lambda _: None) if is_quiet() else print_report)
    verdict = None if done.acceptance is None else done.acceptance.verdict
    if verdict is not None and not verdict.accepted:
        stays = "stays" if output.exists() else "is not made"
        raise RejectedError(f"{output} {stays}: {verdict.verdict}")


def default_model(source: str) -> Path:
    """Name the model after the data: news.svm.gz gives news.mpu, beside it; a URL gives one in this directory."""
    from mpu_cli.runtime.urls import is_url
    from mpu_cli.svmlight.streams import stem

    return (Path() if is_url(source) else Path(source).parent) / f"{stem(source)}.mpu"
