"""Comparisons of predictions with truth, as `mpu evaluate` makes them."""

from collections.abc import Iterable
from typing import Any

from mpu_cli.evaluation.compare import Comparison, Form, iter_predictions, lockstep
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.grammar import DEFAULT_READING, Reading
from mpu_cli.svmlight.reader import iter_chunks


def compare(
    truth: str, predictions: str, *, reading: Reading = DEFAULT_READING, run: Run = DEFAULT_RUN, **options: Any
) -> Comparison:
    """Compare two files; options as of `Comparison`, and the threshold."""
    pairs = lockstep(iter_chunks(truth, reading, run=run), iter_predictions(predictions, reading, run))
    return compare_pairs(pairs, predictions, **options)


def compare_pairs(pairs: Iterable[tuple[Dataset, Dataset]], predictions: str, **options: Any) -> Comparison:
    """Compare predictions with truth, pairs of the same instances."""
    comparison = Comparison(Form(predictions, options.pop("threshold", None)), **options)
    for pair in pairs:
        comparison.add(*pair)
    return comparison
