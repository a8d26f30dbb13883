"""Comparisons of predictions with truth, as `mpu evaluate` makes them; metrics of arrays."""

from typing import Any

from scipy.sparse import csr_array

from mpu_cli.evaluation.compare import Comparison, lockstep
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.svmlight.grammar import DEFAULT_READING, Reading
from mpu_cli.svmlight.prediction_files import iter_predictions
from mpu_cli.svmlight.reader import iter_chunks


def compare(
    truth: str, predictions: str, *, reading: Reading = DEFAULT_READING, run: Run = DEFAULT_RUN, **options: Any
) -> Comparison:
    """Compare two files; options as of `Comparison`."""
    comparison = Comparison(predictions, **options)
    chunks = iter_chunks(truth, reading, run=run), iter_predictions(predictions, reading, run)
    for pair in lockstep(*chunks, predictions):
        comparison.add(*pair)
    return comparison


def measured(metrics, truth, predicted, *cuts, **more):
    """Add predictions or scores and truth to metrics, in chunks that end at `cuts`."""
    for start, stop in zip([0, *cuts], [*cuts, len(truth)], strict=True):
        of_chunk = {name: csr_array(values[start:stop]) for name, values in more.items()}
        metrics.add(csr_array(truth[start:stop]), csr_array(predicted[start:stop]), **of_chunk)
    return metrics
