"""Comparisons of predictions with truth, as `mpu evaluate` makes them."""

from collections.abc import Iterable
from typing import Any

from mpu_cli.evaluation.compare import Comparison, Form, pairs_of_files
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.grammar import DEFAULT_READING, Reading


def compare(
    truth: str, predictions: str, *, reading: Reading = DEFAULT_READING, run: Run = DEFAULT_RUN, **options: Any
) -> Comparison:
    """Compare two files; options as of `Comparison`."""
    return compare_pairs(pairs_of_files(truth, predictions, reading, run), predictions, **options)


def compare_pairs(pairs: Iterable[tuple[Dataset, Dataset]], predictions: str, **options: Any) -> Comparison:
    """Compare predictions with truth, pairs of the same instances."""
    comparison = Comparison(Form(predictions), **options)
    for pair in pairs:
        comparison.add(*pair)
    comparison.finish()
    return comparison
