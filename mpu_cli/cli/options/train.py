"""The options and the help of ``mpu train``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from mpu_cli.cli.messages import verbosity_options
from mpu_cli.cli.options import (
    FILE,
    KNOWLEDGE,
    LEARNING,
    PATH,
    GroupedCommand,
    as_one,
    click_option,
    cluster_options,
    label_features_option,
    option,
    refuse_set,
    run_options,
    runs_command,
    training_files,
)
from mpu_cli.cli.printing import json_option
from mpu_cli.core.options import Options
from mpu_cli.errors import STANDARD_STREAM
from mpu_cli.runtime.options import Integer, Real, Words, options_of
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
        "With --accept-on: reject a model if the 95 % interval of its loss in the metric exceeds NUMBER entirely.",
    )
    accept_metric: str = declared(
        Words(METRICS),
        METRICS[0],
        "With --accept-on: decide by micro_f1, macro_f1, samples_f1, precision_at_K or ndcg_at_K (K: 1, 3, 5).",
    )
    keep: int = declared(
        Integer(0, 10_000),
        5,
        "With --accept-on: keep the last N replaced models as MODEL.1 (newest) to MODEL.N; a new one must not be "
        "worse than the best of them.",
    )


def _acceptance(accept_on: str | None, **values: Any) -> Acceptance | None:
    if accept_on is None:
        refuse_set(values, "{} needs --accept-on TEST.svm.")
        return None
    if accept_on == STANDARD_STREAM or Path(accept_on).is_fifo():
        raise click.UsageError("--accept-on is read again for each model: it must be a file.")
    return Acceptance(test=accept_on, **values)


_GROUPS = {
    "Common options": "output c levels labels reviewed jobs seed json quiet help",
    "Learning": f"{LEARNING} cluster",
    "Knowledge about labels": KNOWLEDGE,
    "Replacing the model": "accept_on accept_margin accept_metric keep",
    "Input and output": "implicit_values max_line_bytes oof history log_format verbose accept_warning",
}


_EPILOG = """
FILE is a LIBSVM multi-label file, plain or compressed, or - for standard input. Several FILEs are read as one. The new
model replaces an existing one only when it is complete.
"""


@click.command("train", cls=GroupedCommand, groups=_GROUPS, epilog=_EPILOG)
@option("-o, --output MODEL", PATH, "Model directory. Default: FILE with the suffix .mpu.")
@as_one("learning", Options, *map(click_option, options_of(Options).values()))
@option("--oof FILE", PATH, "Also write out-of-fold predictions of all instances to FILE.")
@option("--history FILE", PATH, "Append a JSON line about this training to FILE; see `mpu info --history`.")
@as_one(
    "acceptance",
    _acceptance,
    option(
        "--accept-on TEST.svm",
        FILE,
        "Replace the model only if the new one is not worse on TEST.svm, which has complete labels; otherwise exit "
        "with status 3.",
    ),
    *map(click_option, options_of(Acceptance).values()),
)
@cluster_options
@run_options("seed", "jobs", "kernel")
@training_files
@label_features_option
@json_option
@verbosity_options
@runs_command
def command() -> None:
    """Train a model on FILE, some of whose labels may be missing.

    \b
    Example:
      mpu train news.svm                          # writes the model directory news.mpu
      mpu train news.svm.gz -o tags.mpu --c 0.4   # if you know that 40 % of the true labels are annotated
      mpu train part-*.svm.gz -o news.mpu         # learns from all of them
      mpu train news.svm --reviewed checked.tsv   # with labels verified by people; see `mpu review`
      mpu train news.svm --accept-on test.svm --keep 5     # keeps the present model if the new one is worse
    """
