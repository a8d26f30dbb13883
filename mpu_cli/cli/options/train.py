"""The options and the help of ``mpu train``."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from mpu_cli.cli.messages import verbosity_options
from mpu_cli.cli.options import (
    FILE,
    PATH,
    as_one,
    click_option,
    cluster_options,
    label_features_option,
    option,
    refuse_set,
    run_options,
    training_files,
)
from mpu_cli.cli.printing import json_option
from mpu_cli.core.options import Options
from mpu_cli.errors import STANDARD_STREAM
from mpu_cli.runtime.options import Real, Whole, Words, options_of
from mpu_cli.runtime.options import option as declared

# Of scores between 0 and 1, which no model can raise by predicting more or less alone.
METRICS = (
    *("micro_f1", "macro_f1", "samples_f1"),
    *(f"{name}_at_{k}" for name in ("precision", "ndcg") for k in (1, 3, 5)),
)
KS = (1, 3, 5)


@dataclass(frozen=True)
class Acceptance:
    """By what a new model is accepted, and how many of those before it are kept."""

    test: str  # data with complete labels that no training sees
    accept_margin: float = declared(
        Real(0, 1),
        0.0,
        "With --accept-on: a new model is worse where the whole 95 % interval of its difference to the other one is "
        "below minus this.",
    )
    accept_metric: str = declared(Words(METRICS), METRICS[0], "With --accept-on: the metric that decides.")
    keep: int = declared(
        Whole(0, 10_000),
        5,
        "With --accept-on: keep the last N models that were replaced as MODEL.1 (the newest) to MODEL.N. A new model "
        "must not be worse than the best of them either, so that many small losses do not add up.",
    )


def _acceptance(accept_on: str | None, **values: Any) -> Acceptance | None:
    if accept_on is None:
        refuse_set(values, "{} needs --accept-on TEST.svm.")
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
    "Learning": "loss features levels cost eta0 epochs folds same_fold threshold seed",
    "Knowledge of the labels": "c groups reviewed fully_labelled implied labels zero_based label_features prior",
    "Replacing the model": "accept_on accept_margin accept_metric keep",
    "Large data": "sample jobs kernel cluster",
    "Input": "implicit_values max_line_bytes",
    "Output": "output oof history json log_format quiet verbose accept_warning help",
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
def command(**given: Any) -> None:
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
    from mpu_cli.cli import train

    train.command(**given)
