"""``mpu train``."""

import time
from pathlib import Path

import click

from mpu_cli.cli.common import (
    AutoOr,
    FiniteRange,
    detail,
    implicit_values_option,
    is_quiet,
    jobs_option,
    json_option,
    kernel_option,
    print_json,
    progress,
    seed_option,
    validation_options,
    verbosity_options,
    warn,
)

_POSITIVE = FiniteRange(0, min_open=True)
_COMPRESSED = (".gz", ".bz2", ".xz")


class LabelFrequency(click.ParamType):
    """``auto`` (None), a number in (0, 1], or the path of a file with one a label."""

    name = "auto|number|file"

    def convert(self, value, param, ctx):
        """Return None, a float or a Path."""
        if value == "auto":
            return None
        try:
            float(value)
        except ValueError:
            return Path(value)
        return FiniteRange(0, 1, min_open=True).convert(value, param, ctx)


@click.command("train")
@click.argument("source", metavar="FILE", type=click.Path(allow_dash=True))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="The model, a directory. Default: FILE's name, .mpu."
)
@click.option(
    "--levels",
    type=click.IntRange(min=1),
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
    "`label c` for each label. 1 takes missing labels for negatives.",
)
@click.option(
    "--cost",
    type=AutoOr(_POSITIVE, "auto"),
    default="auto",
    show_default=True,
    help="C, the inverse strength of regularisation; auto chooses it and the step size by cross-validation.",
)
@click.option(
    "--epochs",
    type=AutoOr(click.IntRange(min=1), "auto"),
    default="auto",
    show_default=True,
    help="Passes over the data; auto goes by their size.",
)
@click.option(
    "--threshold",
    type=AutoOr(FiniteRange(0, 1), "pu-f1", "per-label"),
    default="pu-f1",
    show_default=True,
    help="Probability from which a label is predicted. pu-f1: the one for all labels that maximises micro-F1 as "
    "estimated for complete labels; per-label: one a label by the same criterion; 0.5: the paper's rule.",
)
@click.option(
    "--stack-scale",
    type=_POSITIVE,
    default=0.3,
    show_default=True,
    help="Weight of a level's predictions as features of the next, relative to the length of an instance.",
)
@validation_options
@seed_option
@jobs_option
@implicit_values_option
@kernel_option
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
    folds: int | None,
    sample: int,
    seed: int,
    jobs: int,
    implicit_values: bool,
    as_json: bool,
) -> None:
    """Learn a model of all labels of FILE, part of whose labels may be missing.

    FILE is a LIBSVM multi-label file, plain or compressed, or - for standard input. The label frequency c, C, the step
    size and the thresholds are chosen from the incomplete labels. A model that is there is replaced when the new one is
    complete, and not before.

    \b
    Example:
      mpu train news.svm                        # writes the model directory news.mpu
      mpu train news.svm.gz -o tags.mpu --levels 2 --c 0.4
      mpu train news.svm --levels 1 --threshold per-label --json
    """
    import numpy as np

    from mpu_cli import bundle
    from mpu_cli.core import training
    from mpu_cli.errors import InputError
    from mpu_cli.frequencies import read_frequencies
    from mpu_cli.svmlight.reader import read

    if output is None:
        if source == "-":
            raise click.UsageError("Standard input has no name to call the model after: give -o MODEL.")
        output = default_model(source)
    elif str(output) == "-":
        raise click.UsageError("A model is a directory and cannot go to standard output: give -o MODEL.")
    bundle.check_target(output)

    start = time.perf_counter()
    with progress("read"):
        data = read(source, implicit_values, jobs)
        labels, ids = data.occurring_labels()
    if not len(ids):
        raise InputError(source, None, "no instance has a label, so there is nothing to learn")
    seconds = {"read": time.perf_counter() - start}

    chosen = {
        "levels": levels,
        "folds": folds,
        "cost": None if cost == "auto" else cost,
        "epochs": None if epochs == "auto" else epochs,
        "threshold": threshold,
        "stack_scale": stack_scale,
        "sample": sample,
        "seed": seed,
    }
    frequency = read_frequencies(c, ids) if isinstance(c, Path) else c
    stacked, found = training.train(data.features, labels, training.Options(**chosen, c=frequency, jobs=jobs), progress)
    if found.estimate is not None and not found.estimate.separable:
        warn(
            f"c = {found.c[0]:.3f} is an estimate without a label that the features tell apart well: it is likely too "
            "low, and the expected micro-F1 too high; give --c where you know it"
        )

    known = np.zeros(data.features.shape[1], bool)
    known[data.features.indices] = True
    start = time.perf_counter()
    with progress("write"):
        bundle.save(bundle.TrainedModel(stacked, ids, found.c, known, chosen | _findings(found)), output)
    report = {
        "model": str(output),
        "instances": len(data),
        "features": int(known.sum()),
        "labels": len(ids),
        **_findings(found),
        "thresholds": {str(label): t for label, t in zip(ids.tolist(), stacked.thresholds.tolist(), strict=True)},
        "seconds": seconds | found.seconds | {"write": time.perf_counter() - start},
    }
    detail("seconds: " + ", ".join(f"{step} {value:.2f}" for step, value in report["seconds"].items()))
    if as_json:
        print_json(report)
    elif not is_quiet():
        _print_report(report)


def default_model(source: str) -> Path:
    """Name the model after the data: news.svm.gz gives news.mpu, beside it."""
    path = Path(source)
    if path.suffix in _COMPRESSED:
        path = path.with_suffix("")
    return path.parent / f"{path.stem}.mpu"


def _findings(found) -> dict:
    """Return what training found, as JSON values."""
    one_c = len(set(found.c.tolist())) == 1
    return {
        "c": float(found.c[0]) if one_c else found.c.tolist(),
        "c_estimated": found.estimate is not None,
        "cost": found.settings.cost,
        "step": found.settings.step,
        "epochs": found.settings.epochs,
        "expected_micro_f1": found.expected_f1,
        "expected_micro_f1_by_level": found.level_f1,
    }


def _print_report(report: dict) -> None:
    thresholds = sorted(report["thresholds"].values())
    c = report["c"]
    click.echo(
        f"data         {report['instances']:,} instances, {report['features']:,} features, {report['labels']:,} labels"
    )
    if isinstance(c, list):
        click.echo(f"c            {min(c):.3f} to {max(c):.3f}, one a label")
    else:
        origin = "estimated" if report["c_estimated"] else "given"
        click.echo(f"c            {c:.3f}, {origin}: {1 - c:.1%} of the true labels are missing")
    click.echo(f"C            {report['cost']:g}, step {report['step']:g}, {report['epochs']} epochs")
    click.echo(
        f"threshold    {thresholds[0]:.3f}" + (f" to {thresholds[-1]:.3f}" if thresholds[0] < thresholds[-1] else "")
    )
    click.echo(
        f"expected     micro-F1 {report['expected_micro_f1']:.3f} on complete labels (out of fold, corrected for c)"
    )
    click.echo(f"model        {click.format_filename(report['model'])} ({sum(report['seconds'].values()):.1f} s)")
