"""What a model says: ``mpu info``."""

import logging
from functools import cached_property
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy.sparse import csr_array

from mpu_cli import bundle
from mpu_cli.bundle.manifest import Origin, parse_origin
from mpu_cli.cli.printing import (
    by_people,
    expected,
    frequency,
    never_annotated,
    print_lines,
    print_table,
    prior_line,
    show,
)
from mpu_cli.core.explanation import explain
from mpu_cli.errors import ModelError, MpuError, counted
from mpu_cli.names.label_names import is_number, label_of, quoted
from mpu_cli.text.stored import unpacked

_log = logging.getLogger(__name__)


_ELSEWHERE = ("c", "c_estimated", "levels")  # options that the report has under other names


class _Described:
    """A model that is looked at."""

    def __init__(self, model: bundle.TrainedModel, path: Path, by_number: bool) -> None:
        self.model = model
        self.path = path
        self.names = None if by_number else model.names
        self._by_number = by_number
        self.origin = None
        if model.origin is not None:
            try:
                self.origin = parse_origin(model.origin, len(model.label_ids))
            except ValueError as error:
                _log.warning(f"{path}: the record of its training is damaged ({error}), so it is left out")

    def report(self, of_labels: list[dict[str, Any]]) -> dict[str, Any]:
        """Return what the model says of itself; what was not recorded is None.

        `of_labels`: what it has for the labels that were asked for.
        """
        model, levels = self.model, self.model.predictor.levels
        names, options, c = model.names, model.options, model.c
        thresholds = model.predictor.thresholds
        return {
            "model": str(self.path),
            "levels": len(levels),
            "labels": len(model.label_ids),
            "named": 0 if names is None else sum(bool(names.by_number.get(k)) for k in model.label_ids.tolist()),
            # labels without annotations, which have names or features alone
            "never_annotated": None if self.origin is None else self.origin.annotated.count(0),
            "features": len(model.occurring.indices),  # that occurred in training
            "weights": sum(_count(level.weights) for level in levels),  # that are not zero
            "knows_texts": model.packed_vectorizer is not None,
            "c": {
                "lowest": float(c.min()),
                "mean": float(c[0] if (c == c[0]).all() else c.mean()),
                "highest": float(c.max()),
                "estimated": bool(options.get("c_estimated")),  # and not set
                "interval": options.get("c_by_people", {}).get("interval", options.get("c_interval")),  # of 90 %
            },
            "thresholds": {"lowest": float(thresholds.min()), "highest": float(thresholds.max())},
            "options": {name: value for name, value in options.items() if name not in _ELSEWHERE},
            "origin": self.origin,
            "of_labels": of_labels,
        }

    def column(self, label: str) -> int:
        """Return the column of a label; MpuError where there is none."""
        if self.names is None and not is_number(label):
            why = "the model has no names" if self.model.names is None else "--numbers takes only numbers"
            raise MpuError(f"{self.path}: {quoted(label)} is not a label number, and {why}")
        try:
            number = label_of(label, self.names)
        except ValueError as error:
            raise MpuError(f"{self.path}: {error}") from None
        ids = self.model.label_ids
        column = int(np.searchsorted(ids, number))
        if column == len(ids) or ids[column] != number:
            near = ids[max(0, column - 2) : column + 2].tolist()
            raise MpuError(
                f"{self.path}: there is no label {number}; the model has {len(ids):,}, such as "
                + ", ".join(map(str, near))
            )
        return column

    def label(self, k: int, top: int) -> dict[str, Any]:
        """Return what the model has for one label.

        Its name is None without names, or where numbers were requested. How often it was annotated and true in training
        is None where that was not recorded; features, the heaviest of each sign, are None where the model has learned
        from a kernel's; its links, and the weight of its own prediction by the levels before, where it has one level.
        """
        model, origin, weights = self.model, self.origin, explain(self.model.predictor, k)
        annotated = None if origin is None else origin.annotated[k]
        is_linear = model.predictor.kernel is None
        return {
            "label": int(model.label_ids[k]),
            "name": self._name(k),
            "c": float(model.c[k]),
            "threshold": float(model.predictor.thresholds[k]),
            "annotated": annotated,
            "true": float(origin.true[k]) if origin is not None and annotated else None,
            "features_for": self._features(weights.features, top) if is_linear else None,
            "features_against": self._features(-weights.features, top, -1) if is_linear else None,
            "own": None if weights.leans_on is None else float(weights.leans_on[k]),
            "leans_on": self._links(weights.leans_on, k, top),
            "leaned_on_by": self._links(weights.leaned_on_by, k, top),
        }

    def _links(self, weights: np.ndarray | None, k: int, top: int) -> list[dict[str, Any]] | None:
        if weights is None:
            return None
        weights[k] = 0
        return [
            _weighed("label", int(self.model.label_ids[j]), self._name(j), weights[j])
            for j in _largest(np.abs(weights), top)
        ]

    def _features(self, weights: np.ndarray, top: int, sign: int = 1) -> list[dict[str, Any]]:
        columns, names = self.model.predictor.columns, self._feature_names
        largest = _largest(weights, top)
        numbers = largest if columns is None else columns.indices[largest].tolist()
        return [
            _weighed("feature", number, names.get(number), sign * weights[j])
            for j, number in zip(largest, numbers, strict=True)
        ]

    def _name(self, k: int) -> str | None:
        return None if self.names is None else self.names.shown(int(self.model.label_ids[k]))

    @cached_property
    def _feature_names(self) -> dict[int, str]:
        """The names of the features that have some."""
        if self.model.packed_vectorizer is None or self._by_number:
            return {}
        return dict(enumerate(unpacked(self.model.packed_vectorizer, str(self.path)).features or (), 1))


def _weighed(kind: str, number: int, name: str | None, weight: float) -> dict[str, Any]:
    return {kind: number} | ({} if name is None else {"name": name}) | {"weight": float(weight)}


def _largest(values: np.ndarray, top: int) -> list[int]:
    """Return where the `top` largest positive values are, from the largest down."""
    order = np.argsort(-values, kind="stable")[:top]
    return order[values[order] > 0].tolist()


def _count(weights: np.ndarray | csr_array) -> int:
    return int(weights.nnz if isinstance(weights, csr_array) else np.count_nonzero(weights))


def command(
    model: Path,
    labels: tuple[str, ...],
    top: int,
    by_number: bool,
    as_json: bool,
) -> None:
    """Carry out the command, with what `mpu_cli.cli.commands` has read."""
    described = _Described(bundle.load(model), model, by_number)
    columns = [described.column(label) for label in dict.fromkeys(labels)]
    try:
        report = described.report([described.label(k, top) for k in columns])
        lines = _lines(report)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{model}: the record of its options is damaged ({error}); train the model again") from error
    show(report, as_json, lambda _: _print(report, lines))


_NOT_RECORDED = "not recorded"
_LISTED = 20  # files
_PACKAGES = {"mpu": "mpu", "python": "Python", "numpy": "NumPy", "scipy": "SciPy", "numba": "numba"}


def _print(report: dict[str, Any], lines: dict[str, str]) -> None:
    print_lines(lines)
    if report["origin"] is not None and (files := report["origin"].files):
        click.echo()
        rows = [[file["name"], _or_unknown(file["bytes"]), _or_unknown(file["sha256"])] for file in files[:_LISTED]]
        print_table([["file", "bytes", "SHA-256"], *rows])
        if len(files) > _LISTED:
            click.echo(f"and {counted(len(files) - _LISTED, 'more file')}; --json lists all")
    for label in report["of_labels"]:
        click.echo()
        _print_label(label)


def _or_unknown(value: int | str | None) -> str:
    return _NOT_RECORDED if value is None else f"{value:,}" if isinstance(value, int) else value


def _lines(report: dict[str, Any]) -> dict[str, str]:
    origin, rest = report["origin"], dict(report["options"])
    instances = "instances not recorded" if origin is None else counted(origin.instances, "instance")
    data = f"{instances}, {counted(report['features'], 'feature')}, {counted(report['labels'], 'label')}"
    data += never_annotated(report["never_annotated"] or 0)
    lines = {"model": click.format_filename(report["model"]), "levels": str(report["levels"]), "data": data}
    lines["c"] = _frequency(report, rest)
    lines["C"] = _strength(rest, {} if origin is None else origin.options)
    low, high = report["thresholds"].values()
    lines |= prior_line(rest)
    lines["threshold"] = f"{low:.3f}" + f" to {high:.3f}, one for each label" * (low < high)
    lines["expected"] = _expected(rest, report["c"]["estimated"])
    lines["options"] = _listed(rest) or "none"
    lines["set"] = _NOT_RECORDED if origin is None else _listed(origin.options) or "none but the defaults"
    lines["weights"] = f"{report['weights']:,} that are not zero"
    lines["names"] = "of " + counted(report["named"], "label") if report["named"] else "of no label"
    lines["texts"] = ("accepted: it has the" if report["knows_texts"] else "not accepted: it has no") + " vectoriser"
    return lines | _history(origin)


def _history(origin: Origin | None) -> dict[str, str]:
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


def _frequency(report: dict[str, Any], rest: dict[str, Any]) -> str:
    """Describe c, and remove its values from `rest`."""
    low, mean, high = (report["c"][name] for name in ("lowest", "mean", "highest"))
    reviewed = rest.pop("c_by_people", None)
    is_known = rest.pop("c_known", True)
    rest.pop("c_interval", None)
    rest.pop("c_by_group", None)
    if reviewed is not None:
        return by_people(reviewed)
    if low < high:
        how = "estimated" if report["c"]["estimated"] else "set by the user"
        return f"{low:.3f} to {high:.3f}, one for each label, {how}; on average {mean:.3f}"
    return frequency(mean, report["c"]["estimated"], report["c"]["interval"], is_known)


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
    levels = ", ".join(f"level {i} {value:.3f}" for i, value in enumerate(by_level or ()))
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


def _print_label(label: dict[str, Any]) -> None:
    annotated, true = label["annotated"], label["true"]
    name = "" if label["name"] is None else f" {label['name']}"
    lines = {
        "label": f"{label['label']}{name}",
        "c": f"{label['c']:.3f}",
        "threshold": f"{label['threshold']:.3f}",
        "annotated": _NOT_RECORDED if annotated is None else counted(annotated, "time"),
        "true": _NOT_RECORDED if true is None else f"about {counted(round(true), 'time')}",
    }
    if annotated == 0:
        lines |= {"annotated": "never", "true": "nothing tells how often"}
    if label["features_for"] is None:
        lines["features"] = "the model uses kernel features, so it has no weights for the features of an instance"
    if label["own"] is None:
        lines["links"] = "none: one level treats labels as independent"
    else:
        lines["own prediction"] = f"{label['own']:+.3f} at the last level"
    print_lines(lines)
    for title, listed in (
        ("features that speak for it", label["features_for"]),
        ("features that speak against it", label["features_against"]),
        ("labels that it leans on", label["leans_on"]),
        ("labels that lean on it", label["leaned_on_by"]),
    ):
        if listed:
            click.echo(f"\n{title}")
            rows = [list(entry.values()) for entry in listed]
            print_table([["  " + " ".join(map(str, which)), f"{weight:+.3f}"] for *which, weight in rows])
