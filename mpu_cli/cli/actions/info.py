"""Describe a model: ``mpu info``."""

from functools import cached_property
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy.sparse import csr_array

from mpu_cli import bundle
from mpu_cli.bundle.writing import origin_of
from mpu_cli.cli.messages import output_report, present, print_values
from mpu_cli.core.explanation import explain
from mpu_cli.errors import MpuError
from mpu_cli.names.label_names import is_number, quoted
from mpu_cli.text.stored import unpacked

_ELSEWHERE = ("c", "c_assumption", "c_estimated", "c_known", "levels")  # options that the report has under other names


class _Described:
    def __init__(self, model: bundle.TrainedModel, path: Path) -> None:
        self.model = model
        self.path = path
        self.origin = origin_of(model, path)

    def report(self, of_labels: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the description of the model; values that were not recorded are None.

        `of_labels`: the descriptions of the requested labels.
        """
        model, levels = self.model, self.model.predictor.levels
        names, options, c = model.names, model.options, model.c
        thresholds = model.predictor.thresholds
        return {
            "model": str(self.path),
            "levels": len(levels),
            "labels": len(model.label_ids),
            "named": sum(bool(names.by_number.get(k)) for k in model.label_ids.tolist()),
            # labels without annotations, which only have names or features
            "never_annotated": None if self.origin is None else self.origin.annotated.count(0),
            "features": len(model.occurring.indices),  # that occurred in training
            "weights": sum(csr_array(level.weights).nnz for level in levels),  # nonzero ones
            "knows_texts": model.packed_vectorizer is not None,
            "c": {
                "lowest": float(c.min()),
                "overall": float(c[0]) if (c == c[0]).all() else options.get("c_overall"),  # in the interval
                "highest": float(c.max()),
                "estimated": bool(options.get("c_estimated")),  # and not set
                "known": options.get("c_known", True),
                "assumption": options.get("c_assumption"),  # if c was estimated from annotations alone
                "interval": options.get("c_interval"),
            },
            "thresholds": {"lowest": float(thresholds.min()), "highest": float(thresholds.max())},
            "options": {name: value for name, value in options.items() if name not in _ELSEWHERE},
            "origin": None
            if self.origin is None
            else {name: value for name, value in vars(self.origin).items() if name not in ("annotated", "true")},
            "of_labels": of_labels,
        }

    def column(self, label: str) -> int:
        """Return the column of a label; MpuError if the model does not have it."""
        if not self.model.names and not is_number(label):
            raise MpuError(f"{self.path}: {quoted(label)} is not a label number, and the model has no names")
        try:
            number = self.model.names.number(label)
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
        """Return the description of one label.

        Its name is None without names. The numbers of annotations and true labels in training are None if not recorded;
        features, the heaviest of each sign, are None for kernel features; its links, and the weight of its own
        prediction by the previous levels, are None if the model has one level.
        """
        model, origin, weights = self.model, self.origin, explain(self.model.predictor, k)
        annotated = None if origin is None else origin.annotated[k]
        true = float(origin.true[k]) if origin is not None and annotated else None
        is_linear = model.predictor.rbf is None
        return {
            "label": int(model.label_ids[k]),
            "name": self._name(k),
            "c": annotated / true if annotated and true and "c_by_group" in model.options else float(model.c[k]),
            "threshold": float(model.predictor.thresholds[k]),
            "annotated": annotated,
            "true": true,
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
        heaviest, ids = _largest(np.abs(weights), top), self.model.label_ids
        return [present(label=int(ids[j]), name=self._name(j), weight=float(weights[j])) for j in heaviest]

    def _features(self, weights: np.ndarray, top: int, sign: int = 1) -> list[dict[str, Any]]:
        columns, names = self.model.predictor.columns, self._feature_names
        largest = _largest(weights, top)
        numbers = largest if columns is None else columns.indices[largest].tolist()
        return [
            present(feature=number, name=names.get(number), weight=float(sign * weights[j]))
            for j, number in zip(largest, numbers, strict=True)
        ]

    def _name(self, k: int) -> str | None:
        return self.model.names.shown(int(self.model.label_ids[k])) if self.model.names else None

    @cached_property
    def _feature_names(self) -> dict[int, str]:
        if self.model.packed_vectorizer is None:
            return {}
        return dict(enumerate(unpacked(self.model.packed_vectorizer, str(self.path)).features or (), 1))


def _largest(values: np.ndarray, top: int) -> list[int]:
    """Return the positions of the `top` largest positive values, in descending order of value."""
    order = np.argsort(-values, kind="stable")[:top]
    return order[values[order] > 0].tolist()


def command(model: Path, label: tuple[str, ...], top: int) -> None:
    described = _Described(bundle.load(model), model)
    columns = [described.column(name) for name in dict.fromkeys(label)]
    output_report(described.report([described.label(k, top) for k in columns]), _print)


def _print(report: dict[str, Any]) -> None:
    print_values({name: value for name, value in report.items() if name != "of_labels"})
    for label in report["of_labels"]:
        click.echo()
        print_values(label)
