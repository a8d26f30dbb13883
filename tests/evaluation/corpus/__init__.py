"""Inputs of ``fuzz.files predictions``: a byte of options, a truth file, a byte 0xff, a file of predictions."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from mpu_cli.cli.actions.evaluate import build_report, per_label_report
from mpu_cli.errors import MpuError
from mpu_cli.evaluation.compare import Comparison
from mpu_cli.evaluation.metrics import Propensities
from mpu_cli.svmlight.grammar import Reading
from tests.evaluation.comparing import compare
from tests.line_limit import line_limit
from tests.svmlight.reference import Instance, reference_file

_THRESHOLDS = (0.0, 0.5, 0.1, 1.0)


def replay(data: bytes, folder: Path) -> None:
    """Evaluate an input: it must be refused, or counted as the reference grammar and sets of labels do it."""
    options = data[0] if data else 0
    reading, threshold = Reading(bool(options & 1)), _THRESHOLDS[options >> 1 & 3]
    truth, _, predictions = data[1:].partition(b"\xff")
    (folder / "truth").write_bytes(truth)
    (folder / "predictions").write_bytes(predictions)
    try:
        with line_limit(60):
            plain = replace(reading, implicit_values=False)
            expected = _counts(reference_file(truth, reading), reference_file(predictions, plain), threshold)
            files, c = (str(folder / name) for name in ("truth", "predictions")), Propensities(others=0.5)
            found = compare(*files, threshold=threshold, reading=reading, c=c)
    except MpuError as error:
        assert expected is None, error
        assert str(error).isprintable()
    else:
        sets = found.label_sets
        assert expected == (sets.true_positives.sum(), sets.predicted.sum(), sets.support.sum())
        _check_report(found)


def _counts(
    truth: list[Instance] | str, predictions: list[Instance] | str, threshold: float
) -> tuple[int, int, int] | None:
    """Return how many labels are predicted and true, predicted, and true; None where the files cannot be compared."""
    if isinstance(truth, str) or isinstance(predictions, str) or len(truth) != len(predictions):
        return None
    saw_scores = any(scores for _, scores in predictions)
    if saw_scores and any(set(labels) - {label for label, _ in scores} for labels, scores in predictions):
        return None
    true = [set(labels) for labels, _ in truth]
    if saw_scores:
        predicted = [
            {label for label, bits in scores if np.uint32(bits).view(np.float32) >= np.float32(threshold)}
            for _, scores in predictions
        ]
    else:
        predicted = [set(labels) for labels, _ in predictions]
    hits = sum(len(left & right) for left, right in zip(true, predicted, strict=True))
    return hits, sum(map(len, predicted)), sum(map(len, true))


def _check_report(comparison: Comparison) -> None:
    report = build_report(comparison)
    highest = {"coverage_error": len(comparison.ranking.labels)}
    for name, value in comparison.results().items():
        assert -1e-9 <= value <= highest.get(name, 1) + 1e-9, (name, value)
    assert len(per_label_report(comparison)) == report["labels"]
