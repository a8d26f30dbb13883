"""``mpu info``."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mpu_cli.cli.messages import verbosity_options
from mpu_cli.cli.options import PATH, numbers_option, option
from mpu_cli.cli.printing import (
    by_people,
    expected,
    frequency,
    json_option,
    never_annotated,
    print_json,
    print_lines,
    print_table,
    prior_line,
    show,
)
from mpu_cli.errors import counted
from mpu_cli.runtime.options import Whole

if TYPE_CHECKING:
    from mpu_cli.bundle.manifest import Origin, OriginFile
    from mpu_cli.commands.info import ModelLabelReport, ModelReport

_FORMATS = (".png", ".svg", ".pdf")
_TESTED = ["trained", "accepted", "by", "test", "unknown features", "labels per instance", "expected", "warnings"]


def _figure(_ctx: click.Context, _param: click.Parameter, value: Path | None) -> Path | None:
    if value is not None and value.suffix not in _FORMATS:
        raise click.BadParameter(f"the name of a figure ends in {', '.join(_FORMATS)}, and not in {str(value)!r}")
    return value


@click.command("info")
@click.argument("model", metavar="[MODEL]", type=PATH, required=False)
@option(
    "--history FILE",
    PATH,
    "In place of MODEL: list the trainings in FILE, to which `mpu train --history` adds a line each. With --plot, "
    "draw c, expected F1, counts and time, and what --accept-on measured: quality, unknown features, labels.",
)
@option(
    "--label NAME",
    str,
    "Also show this label, by name or number: its label frequency and threshold, how often it was annotated "
    "and is probably true, the features that speak for and against it, and its links to other labels. Can be "
    "repeated.",
    name="labels",
    multiple=True,
)
@option(
    "--top N",
    Whole(0),
    "With --label: list at most N features for it, N against it, and N links in each direction.",
    default=10,
)
@click.option(
    "--plot",
    metavar="FILE",
    type=PATH,
    callback=_figure,
    help="Also draw the model in FILE (.png, .svg or .pdf): how often labels were annotated and are probably true, "
    "label frequencies, calibration, and the strongest links between labels. This needs matplotlib.",
)
@numbers_option
@json_option
@verbosity_options
def info(
    model: Path | None,
    history: Path | None,
    labels: tuple[str, ...],
    top: int,
    plot: Path | None,
    by_number: bool,
    as_json: bool,
) -> None:
    """Show what MODEL is, and what it has learned of labels.

    The weights of --label add up to log-odds. That of a feature is what one unit of it adds at the first level, which
    sees the features alone. From the second level on, a link is what a prediction of 1 of the one label adds to the
    other at the last level: a positive link makes it more probable, a negative one less.

    "not recorded" marks information that the model does not have, such as one that an earlier version of mpu wrote.

    \b
    Example:
      mpu info news.mpu
      mpu info news.mpu --json
      mpu info news.mpu --label "Digital television" --label Radio
      mpu info news.mpu --label 3 --numbers --top 20
      mpu info news.mpu --plot news.svg
      mpu info --history trainings.jsonl --plot trainings.svg
    """
    if history is not None:
        if model is not None or labels:
            raise click.UsageError("--history takes neither MODEL nor --label.")
        _show_history(history, plot, as_json)
        return
    if model is None:
        raise click.UsageError("Missing argument 'MODEL'.")
    from mpu_cli.commands.info import describe

    report = describe(model, labels, top, by_number, plot)
    show(report, as_json, print_report)


def _show_history(path: Path, plot: Path | None, as_json: bool) -> None:
    from mpu_cli.commands import history
    from mpu_cli.runtime.files import refuse_overlaps

    refuse_overlaps({"--history": path}, {"--plot": plot})
    entries = history.read(path)
    if plot is not None:
        history.draw(path, entries, plot)
    if as_json:
        print_json({"trainings": entries})
        return
    rows = [[entry["time"], *(_number(entry.get(name)) for name in history.NUMBERS)] for entry in entries]
    print_table([["trained", *(name.replace("_", " ") for name in history.NUMBERS)], *rows])
    if tested := history.tested(entries):
        click.echo()
        values = [[_number(entry.get(name)) for name in history.TESTED] for entry in tested]
        print_table([_TESTED, *map(_tested, tested, values)])


def _tested(entry: dict[str, Any], values: list[str]) -> list[str]:
    accepted = "yes" if entry.get("accepted") else "no"
    metric = str(entry.get("test_metric", "-"))
    return [entry["time"], accepted, metric, *values, str(len(entry.get("warnings") or ()))]


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"


_NOT_RECORDED = "not recorded"
_LISTED = 20  # files
_PACKAGES = {"mpu": "mpu", "python": "Python", "numpy": "NumPy", "scipy": "SciPy", "numba": "numba"}


def print_report(report: "ModelReport") -> None:
    """Print the properties of a model, one on each line, then the requested labels."""
    print_lines(_lines(report))
    if report.origin is not None and report.origin.files:
        click.echo()
        _print_files(report.origin.files)
    for label in report.of_labels:
        click.echo()
        _print_label(label, report)


def _print_files(files: "list[OriginFile]") -> None:
    rows = [[file["name"], _or_unknown(file["bytes"]), _or_unknown(file["sha256"])] for file in files[:_LISTED]]
    print_table([["file", "bytes", "SHA-256"], *rows])
    if len(files) > _LISTED:
        click.echo(f"and {counted(len(files) - _LISTED, 'more file')}; --json lists all")


def _or_unknown(value: int | str | None) -> str:
    return _NOT_RECORDED if value is None else f"{value:,}" if isinstance(value, int) else value


def _lines(report: "ModelReport") -> dict[str, str]:
    origin, rest = report.origin, dict(report.options)
    instances = "instances not recorded" if origin is None else counted(origin.instances, "instance")
    data = f"{instances}, {counted(report.features, 'feature')}, {counted(report.labels, 'label')}"
    data += never_annotated(report.never_annotated or 0)
    lines = {"model": click.format_filename(report.model), "levels": str(report.levels), "data": data}
    lines["c"] = _frequency(report, rest)
    lines["C"] = _strength(rest, {} if origin is None else origin.options)
    low, high = report.thresholds.lowest, report.thresholds.highest
    lines |= prior_line(rest)
    lines["threshold"] = f"{low:.3f}" + f" to {high:.3f}, one for each label" * (low < high)
    lines["expected"] = _expected(rest, report.c.estimated)
    lines["options"] = _listed(rest) or "none"
    lines["set"] = _NOT_RECORDED if origin is None else _listed(origin.options) or "none but the defaults"
    lines["weights"] = f"{report.weights:,} that are not zero"
    lines["names"] = "of " + counted(report.named, "label") if report.named else "of no label"
    lines["texts"] = "accepted: it has the vectoriser" if report.knows_texts else "not accepted: it has no vectoriser"
    return lines | _history(origin)


def _history(origin: "Origin | None") -> dict[str, str]:
    if origin is None:
        return dict.fromkeys(("trained", "from", "by"), _NOT_RECORDED)
    source = origin.source or "arrays"
    if origin.source_sha256 is not None:
        source += f" ({origin.source_bytes:,} bytes, SHA-256 {origin.source_sha256})"
    elif origin.source is not None and not origin.files:
        source += f" (size and checksum {_NOT_RECORDED})"
    versions = ", ".join(f"{_PACKAGES.get(name, name)} {version}" for name, version in origin.versions.items())
    return {
        "trained": origin.time,
        "from": ", ".join([source, *origin.others]),
        "by": f"{versions}, kernel {origin.kernel}",
    }


def _frequency(report: "ModelReport", rest: dict[str, Any]) -> str:
    """Describe c, and remove its values from `rest`."""
    low, mean, high = report.c.lowest, report.c.mean, report.c.highest
    reviewed = rest.pop("c_by_people", None)
    is_known = rest.pop("c_known", True)
    rest.pop("c_interval", None)
    rest.pop("c_by_group", None)
    if reviewed is not None:
        return by_people(reviewed)
    if low < high:
        how = "estimated" if report.c.estimated else "set by the user"
        return f"{low:.3f} to {high:.3f}, one for each label, {how}; on average {mean:.3f}"
    return frequency(mean, report.c.estimated, report.c.interval, is_known)


def _strength(rest: dict[str, Any], chosen_by_user: dict[str, Any]) -> str:
    cost, step, epochs = (rest.pop(name, None) for name in ("cost", "step", "epochs"))
    parts = [_NOT_RECORDED if cost is None else f"{cost:g}" + " (set)" * ("cost" in chosen_by_user)]
    parts += [] if step is None else [f"step {step:g}" + " (set)" * ("eta0" in chosen_by_user)]
    parts += [] if epochs is None else [counted(epochs, "epoch") + " (set)" * ("epochs" in chosen_by_user)]
    return ", ".join(parts)


def _expected(rest: dict[str, Any], estimated: bool) -> str:
    names = ("expected_micro_f1", "expected_micro_f1_interval", "expected_micro_f1_by_level")
    f1, interval, by_level = (rest.pop(name, None) for name in names)
    if f1 is None:
        return _NOT_RECORDED
    levels = ", ".join(f"level {i} {value:.3f}" for i, value in enumerate(by_level or (), 1))
    best = f"; at the best threshold of each level: {levels}" * bool(levels)
    return expected(f1, interval, estimated) + best


def _listed(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} {_value(value)}" for name, value in values.items())


def _value(value: Any) -> str:
    if value is None:
        return "auto"
    if isinstance(value, list):
        return "one for each label"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _print_label(label: "ModelLabelReport", report: "ModelReport") -> None:
    annotated = _NOT_RECORDED if label.annotated is None else counted(label.annotated, "time")
    if label.annotated == 0:
        annotated, true = "never", "nothing tells how often"
    else:
        true = _NOT_RECORDED if label.true is None else f"about {counted(round(label.true), 'time')}"
    lines = {
        "label": str(label.label) + ("" if label.name is None else f" {label.name}"),
        "c": f"{label.c:.3f}",
        "threshold": f"{label.threshold:.3f}",
        "annotated": annotated,
        "true": true,
    }
    if label.features_for is None:
        lines["features"] = "it has learned from features of a kernel, and has no weight for one of an instance"
    if label.leans_on is None:
        lines["links"] = "none: one level treats labels as independent"
    elif label.own is not None:
        lines["own prediction"] = f"{label.own:+.3f} at the last level"
    print_lines(lines)
    for title, listed in (
        ("features that speak for it", label.features_for),
        ("features that speak against it", label.features_against),
        ("labels that it leans on", label.leans_on),
        ("labels that lean on it", label.leaned_on_by),
    ):
        if listed:
            click.echo(f"\n{title}")
            rows = (vars(entry).values() for entry in listed)
            print_table([[f"  {number}" + f" {name}" * (name is not None), f"{w:+.3f}"] for number, name, w in rows])
