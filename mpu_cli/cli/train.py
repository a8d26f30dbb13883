"""``mpu train``."""

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mpu_cli.cli.common import (
    FREQUENCY,
    POSITIVE,
    WEIGHT,
    AutoOr,
    FiniteRange,
    json_option,
    print_json,
    reading_options,
    validation_options,
)
from mpu_cli.cli.messages import detail, info, is_quiet, verbosity_options, warn
from mpu_cli.cli.method_options import method_options, of_this_method
from mpu_cli.cli.run_options import cache_option, run_options
from mpu_cli.cli.train_report import print_report
from mpu_cli.runtime.ranges import MOST_EPOCHS, MOST_LEVELS
from mpu_cli.svmlight.grammar import Reading

_DIRECTORIES = ("--output", "--warm-start", "--resume")
_COMPRESSED = (".gz", ".bz2", ".xz")

if TYPE_CHECKING:
    from mpu_cli.runtime.run import Run


class LabelFrequency(click.ParamType):
    """``auto`` (None), a number up to 1, or the path of a file with one for each label."""

    name = "auto|number|file"

    def convert(self, value, param, ctx):
        """Return None, a float or a Path."""
        if value == "auto":
            return None
        try:
            float(value)
        except ValueError:
            return Path(value)
        return FREQUENCY.convert(value, param, ctx)


@click.command("train")
@click.argument("source", metavar="FILE", type=click.Path(allow_dash=True))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="The model, a directory. Default: FILE's name, .mpu."
)
@click.option(
    "--levels",
    type=click.IntRange(1, MOST_LEVELS),
    default=2,
    show_default=True,
    help="Stacked levels, the first included: 1 takes labels for independent, 2 learns their correlations.",
)
@click.option(
    "--c",
    type=LabelFrequency(),
    default="auto",
    show_default=True,
    help="Label frequency, the share of the true labels that is annotated: estimated, a number, or a file with a line "
    "`label c` for each label, if you know them (about estimated ones, see `mpu estimate-c --help`). 1 takes missing "
    "labels for negatives.",
)
@click.option(
    "--cost",
    type=AutoOr(POSITIVE, "auto"),
    default="auto",
    show_default=True,
    help="C, the inverse strength of regularisation; auto chooses it and the step size by cross-validation.",
)
@click.option(
    "--epochs",
    type=AutoOr(click.IntRange(1, MOST_EPOCHS), "auto"),
    default="auto",
    show_default=True,
    help="Passes over the data; auto goes by their size, and how alike instances are.",
)
@click.option(
    "--threshold",
    type=AutoOr(FiniteRange(0, 1), "pu-f1", "per-label"),
    default="pu-f1",
    show_default=True,
    help="Probability from which a label is predicted. pu-f1: the one for all labels that maximises micro-F1 as "
    "estimated for complete labels; per-label: one for each label by the same criterion; 0.5: the paper's rule.",
)
@click.option(
    "--stack-scale",
    type=WEIGHT,
    default=0.3,
    show_default=True,
    help="Weight of a level's predictions as features of the next, relative to the length of an instance.",
)
@method_options
@click.option(
    "--warm-start",
    metavar="MODEL",
    type=click.Path(path_type=Path),
    help="Start from the weights of an earlier model, and take its C and step size; labels and features may have come "
    "or gone since.",
)
@click.option(
    "--resume",
    is_flag=True,
    help="Keep finished steps in MODEL.resume until the model is saved, and take over those that an interrupted "
    "training of the same data and options has left.",
)
@click.option(
    "--wait",
    type=FiniteRange(0),
    default=0,
    show_default=True,
    metavar="SECONDS",
    help="Wait so long for another training of the same model to end; then exit with status 75.",
)
@validation_options
@run_options("seed", "jobs", "kernel", "memory")
@cache_option
@reading_options
@json_option
@verbosity_options
def train(
    source: str,
    output: Path | None,
    levels: int,
    c: float | Path | None,
    cost: str | float,
    epochs: str | int,
    threshold: str | float,
    stack_scale: float,
    warm_start: Path | None,
    resume: bool,
    wait: float,
    method: str,
    unlabeled: str | None,
    of_method: dict,
    folds: int | None,
    sample: int,
    run: "Run",
    cache: Path | None,
    reading: Reading,
    as_json: bool,
) -> None:
    """Learn a model of all labels of FILE, part of whose labels may be missing.

    FILE is a LIBSVM multi-label file, plain or compressed, or - for standard input. The label frequency c, C, the step
    size and the thresholds are chosen from the incomplete labels. A model that is there is replaced when the new one is
    complete, and not before.

    \b
    Example:
      mpu train news.svm                          # writes the model directory news.mpu
      mpu train news.svm.gz -o tags.mpu --c 0.4   # where you know that 40 % of the true labels are there
      mpu train news.svm --levels 1 --json
      mpu train news.svm --method elkan08 --c-method e3
    """
    import numpy as np

    from mpu_cli import bundle, methods
    from mpu_cli.commands.frequencies import read_frequencies
    from mpu_cli.commands.warm_start import match
    from mpu_cli.core import training
    from mpu_cli.errors import InputError
    from mpu_cli.runtime.files import refuse_overlaps
    from mpu_cli.runtime.resume import fingerprint, folder_of, keep_steps
    from mpu_cli.svmlight.cache import read
    from mpu_cli.svmlight.dataset import occurring

    if output is None:
        if source == "-":
            raise click.UsageError("Standard input has no name to call the model after: give -o MODEL.")
        output = default_model(source)
    elif str(output) == "-":
        raise click.UsageError("A model is a directory and cannot go to standard output: give -o MODEL.")
    inputs = {"FILE": source, "--unlabeled": unlabeled, "--c": c if isinstance(c, Path) else None}
    outputs = {"--output": output, "--cache": cache, "--resume": folder_of(output) if resume else None}
    refuse_overlaps(inputs | {"--warm-start": warm_start}, outputs, _DIRECTORIES)
    ctx = click.get_current_context()
    save = ctx.with_resource(bundle.writer(output, wait))

    start = time.perf_counter()
    with run.step("read"):
        data = read(source, reading, run, cache)
        labels, ids = data.occurring_labels()
        to_label = None if unlabeled is None else read(unlabeled, reading, run, cache).features
    if not len(ids):
        raise InputError(source, None, "no instance has a label, so there is nothing to learn")
    seconds = {"read": time.perf_counter() - start}

    chosen: dict[str, Any] = {
        "levels": levels,
        "folds": folds,
        "cost": None if cost == "auto" else cost,
        "epochs": None if epochs == "auto" else epochs,
        "threshold": threshold,
        "stack_scale": stack_scale,
        "sample": sample,
    }
    frequency = read_frequencies(c, ids) if isinstance(c, Path) else c
    options = methods.MethodOptions(training.Options(**chosen, c=frequency), **of_method)
    begin = None
    if warm_start is not None:
        begin, counts = match(warm_start, levels, data.features, ids)
        info(
            "warm start: " + ", ".join(f"{count:,} {what.replace('_', ' ')}" for what, count in counts.items()),
            **counts,
        )
    if resume:
        key = fingerprint(run, method, data.features, labels, options, begin)
        steps = ctx.with_resource(keep_steps(folder_of(output), key))
        run = replace(run, journal=steps)
        if steps.found:
            info(f"{steps.found} finished steps of an interrupted training are taken over", steps=steps.found)
    fitted = methods.fit(method, data.features, labels, options, run, to_label, begin)
    for warning in fitted.warnings:
        warn(warning)

    known = np.zeros(fitted.model.n_features, bool)
    for features in (data.features, to_label):
        if features is not None:
            known |= occurring(features.indices, len(known))
    values = chosen | {"seed": run.seed} | of_method
    record = {name: values[name] for name in of_this_method(method, values)} | fitted.findings
    start = time.perf_counter()
    with run.step("write"):
        save(bundle.TrainedModel(method, fitted.model, ids, fitted.c, known, record))
    if resume:
        steps.remove()
    report = {
        "model": str(output),
        "method": method,
        "instances": len(data),
        "features": int(known.sum()),
        "labels": len(ids),
        **fitted.findings,
        "thresholds": {str(label): t for label, t in zip(ids.tolist(), fitted.model.thresholds.tolist(), strict=True)},
        "seconds": seconds | fitted.seconds | {"write": time.perf_counter() - start},
    }
    detail("seconds: " + ", ".join(f"{step} {value:.2f}" for step, value in report["seconds"].items()))
    if as_json:
        print_json(report)
    elif not is_quiet():
        print_report(report)


def default_model(source: str) -> Path:
    """Name the model after the data: news.svm.gz gives news.mpu, beside it."""
    path = Path(source)
    if path.suffix in _COMPRESSED:
        path = path.with_suffix("")
    return path.parent / f"{path.stem}.mpu"
