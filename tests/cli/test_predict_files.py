import gzip
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from mpu_cli.bundle import TrainedModel
from mpu_cli.bundle.predicting import select, with_implied
from mpu_cli.cli.actions import predict as command
from mpu_cli.cli.actions.predict import Output, predict
from mpu_cli.core.features import Columns
from mpu_cli.core.implications import Implications
from mpu_cli.core.linear_model import LinearModel
from mpu_cli.core.predictions import Cells, Top
from mpu_cli.core.stacking import StackedModel
from mpu_cli.runtime.run import DEFAULT_RUN
from mpu_cli.svmlight.grammar import DEFAULT_READING
from mpu_cli.svmlight.prediction_files import iter_predictions
from tests.memory import peak

IDS = np.array([2, 7, 11, 40])


def make_model() -> TrainedModel:
    """Two levels of six features and four labels."""
    rng = np.random.default_rng(0)
    weights = (rng.normal(size=(n, 4)).astype(np.float32) for n in (6, 10))
    levels = tuple(LinearModel(of_level, rng.normal(-0.5, size=4).astype(np.float32)) for of_level in weights)
    thresholds = rng.uniform(0.2, 0.6, 4).astype(np.float32)
    known = Columns(np.array([1, 2, 4, 5]), 6)
    return TrainedModel(StackedModel(levels, 0.5, thresholds), IDS, np.ones(4), known, {})


@pytest.fixture
def source(tmp_path):
    """Forty instances, one of them without features, with labels that must not matter."""
    rng = np.random.default_rng(1)
    path = tmp_path / "new.svm"
    rows = [" ".join(f"{j}:{rng.normal():.3g}" for j in np.flatnonzero(rng.random(6) < 0.6)) for _ in range(40)]
    rows[5] = ""
    path.write_text("".join(f"{i % 3} {row}\n" for i, row in enumerate(rows)))
    return path


@pytest.fixture
def predicted(source, tmp_path):
    """Predict the source; give the lines and the counts."""

    def run(**output):
        target = tmp_path / "out.txt"
        counts = predict(make_model(), source, target, Output(**output))
        return target.read_text().splitlines(), counts

    return run


@given(
    st.dictionaries(st.tuples(st.integers(0, 3), st.integers(0, 4)), st.integers(1, 9), max_size=12),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=8),
    st.booleans(),
)
def test_what_labels_imply_is_added_as_probable_as_they_are(predicted, rules, ranked):
    """Against one label after another; label 5 is not allowed."""
    rules = Implications(rules)
    expected = dict(predicted)
    for (row, column), p in predicted.items():
        for broader in rules.broader(column) - {5}:
            expected[row, broader] = max(p, expected.get((row, broader), p))
    places, values = np.array(sorted(predicted), np.int64).reshape(-1, 2), [predicted[key] for key in sorted(predicted)]
    cells = Cells(*places.T, np.array(values, np.float32))
    filled = with_implied(cells, rules.among(np.arange(6), np.arange(6)), np.arange(6) != 5, ranked)
    keys = list(zip(filled.rows.tolist(), filled.columns.tolist(), strict=True))
    assert dict(zip(keys, filled.probabilities.tolist(), strict=True)) == expected
    by_rank = {key: (key[0], -expected[key], predicted.get(key) != expected[key], key[1]) for key in keys}
    assert keys == sorted(keys, key=by_rank.get if ranked else None)


# The choice of labels, against one that looks at one instance at a time


def brute_force(row, thresholds, top_k, ranked) -> list[int]:
    chosen = [k for k in range(len(row)) if row[k] >= thresholds[k]]
    best_first = sorted(chosen, key=lambda k: (-row[k], k))[:top_k]
    return best_first if ranked else sorted(best_first)


# Few distinct values, so that ties and values on a threshold are common.
TENTHS = st.integers(0, 5).map(lambda tenth: np.float32(tenth / 10))


@given(st.data(), st.integers(1, 6), st.integers(0, 5), st.booleans(), st.none() | st.integers(1, 8), st.booleans())
def test_select_agrees_with_one_instance_at_a_time(data, q, n, one_threshold, top_k, ranked):
    def draw(size):
        return np.array(data.draw(st.lists(TENTHS, min_size=size, max_size=size)), np.float32)

    matrix, thresholds = draw(n * q).reshape(n, q), np.resize(draw(1 if one_threshold else q), q)
    expected = [brute_force(row, thresholds, top_k, ranked) for row in matrix]
    for predictions in (matrix, csr_array(matrix)) if (thresholds > 0).all() else (matrix,):
        cells = select(predictions, thresholds, top_k, ranked)
        rows, columns, probabilities = cells.rows, cells.columns, cells.probabilities
        assert [columns[rows == i].tolist() for i in range(n)] == expected
        assert (np.diff(rows) >= 0).all()
        np.testing.assert_array_equal(probabilities, matrix[rows, columns])


# Files


def test_of_the_most_probable_labels_those_at_or_over_thresholds_of_their_own(tmp_path, source):
    """Label lists had the most probable of those over their thresholds, and so others than scores."""
    weights = csr_array((6, 4), dtype=np.float32)
    level = LinearModel(weights, np.array([2.0, 1.0, 0.0, -9.0], np.float32))  # .88, .73, .5, .0001
    model = StackedModel((level,), 1.0, np.array([0.9, 0.7, 0.4, 0.9], np.float32), top=Top(20))
    trained = TrainedModel(model, IDS, np.ones(4), Columns(np.arange(6, dtype=np.int32), 6), {})
    for top_k, expected in ((1, ""), (2, "7"), (3, "7,11"), (4, "7,11")):
        for form in ("labels", "both", "scores"):
            predict(trained, source, tmp_path / "out", Output(format=form, top_k=top_k))
            (part,) = iter_predictions(tmp_path / "out", DEFAULT_READING, DEFAULT_RUN)
            found = {",".join(map(str, labels.indices)) for labels in part.labels}
            assert (found, form) == ({expected}, form)


@pytest.mark.parametrize("options", [{}, {"format": "scores"}, {"top_k": 2}])
@pytest.mark.parametrize("budget", [1, 12, 29])
def test_slices_do_not_show(predicted, monkeypatch, options, budget):
    whole = predicted(**options)
    sizes = []
    of_model = StackedModel.predictions

    def watched(self, features, *more):
        sizes.append(features.shape[0])
        return of_model(self, features, *more)

    monkeypatch.setattr(command, "_PROBABILITIES", budget)
    monkeypatch.setattr(StackedModel, "predictions", watched)
    lines, counts = predicted(**options)
    assert (counts, max(sizes)) == (whole[1], max(1, budget // 4))
    if options.get("format"):  # a product of another shape may round the last bit differently
        numbers, expected = (re.findall(r"\d[\d.e-]*", "\n".join(some)) for some in (lines, whole[0]))
        np.testing.assert_allclose(np.array(numbers, float), np.array(expected, float), rtol=1e-5)
    else:
        assert lines == whole[0]


@pytest.mark.slow
def test_memory_does_not_grow_with_what_compressed_data_expand_to(tmp_path):
    line = b" " + b" ".join(b"%d:0.25" % index for index in range(60)) + b"\n"
    peaks = []
    for repeats in (8_000, 136_000):  # either is more blocks than are read ahead
        (tmp_path / "in.gz").write_bytes(gzip.compress(line * repeats, compresslevel=1))
        peaks.append(peak(lambda: predict(make_model(), tmp_path / "in.gz", tmp_path / "out")))
        assert (tmp_path / "out").read_bytes().count(b"\n") == repeats
    # How many threads are at their peak at the same time is chance; what is kept of the larger file would not be.
    assert peaks[1] - peaks[0] < 0.05 * len(line) * 128_000
