"""One column of numbers far larger than the others ruins neither c nor predictions."""

import numpy as np
import pytest
from scipy.sparse import csr_array, hstack

from mpu_cli import MPUClassifier
from mpu_cli.core.features import LARGEST, SCALINGS, STANDARDISED, Features, Scaling, unevenness, unit_rows
from mpu_cli.core.labels.problem import Problem
from mpu_cli.core.options import Options
from mpu_cli.core.stacking import train
from mpu_cli.errors import MpuWarning


def texts(n: int) -> tuple[csr_array, np.ndarray]:
    """Instances of unit length, with counts of words of some of eight topics, which are their labels."""
    rng = np.random.default_rng(0)
    labels = rng.random((n, 8)) < 0.2
    words = labels @ rng.dirichlet(np.full(200, 0.05), 8) + 0.3 / 200
    counts = [rng.multinomial(40, of / of.sum()) for of in words]
    return unit_rows(csr_array(np.array(counts, np.float32))), labels


def with_years(matrix: csr_array) -> csr_array:
    years = np.random.default_rng(1).integers(1990, 2024, (matrix.shape[0], 1))
    return csr_array(hstack([matrix, csr_array(years.astype(np.float32))], format="csr"))


def measurements(n: int) -> tuple[csr_array, np.ndarray]:
    """Twenty features from 0 to 1, which tell labels, and one from 0 to 255, which does not."""
    rng = np.random.default_rng(0)
    X = np.hstack([rng.random((n, 20)), rng.integers(0, 256, (n, 1))])
    noise = 0.2 * rng.standard_normal((n, 6))
    return csr_array(X.astype(np.float32)), (X[:, :20] - 0.5) @ rng.standard_normal((20, 6)) / 1.3 + noise > 0.6


def f1_of(model, X: csr_array, Y: np.ndarray) -> float:
    predicted = model.probabilities(X) >= model.thresholds
    return 2 * (predicted & Y).sum() / (predicted.sum() + Y.sum())


@pytest.mark.slow  # it chooses all options
@pytest.mark.parametrize("kind", ["texts", "measurements"])
def test_large_numbers_beside_small_ones_ruin_nothing(kind):
    X, Y = texts(600) if kind == "texts" else measurements(600)
    X = with_years(X) if kind == "texts" else X
    S = csr_array(Y & (np.random.default_rng(2).random(Y.shape) < 0.7))[:400]
    model, result = train(Problem(X[:400], S), Options())
    assert result.scaling in SCALINGS or model.rbf is not None
    assert result.chosen.c[0] == pytest.approx(0.7, abs=0.1)
    assert result.expected_f1 == pytest.approx(f1_of(model, X[400:], Y[400:]), abs=0.08)
    assert result.expected_f1 > 0.8
    assert result.chosen.estimates.dominating.column == X.shape[1] - 1
    plain, _ = train(Problem(X[:400], S), Options(features="linear"))
    assert f1_of(plain, X[400:], Y[400:]) < 0.6


@pytest.mark.slow
def test_nothing_changes_for_texts_of_unit_length():
    X, Y = texts(200)
    problem = Problem(X, csr_array(Y))
    (auto, result), (linear, _) = (
        train(problem, Options(features=features, c=1.0, levels=1)) for features in (None, "linear")
    )
    assert result.scaling is result.chosen.estimates.dominating is None
    for level, other in zip(auto.levels, linear.levels, strict=True):
        assert np.array_equal(level.weights, other.weights)


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("name", SCALINGS)
def test_scaled_features(sparse, name):
    rng = np.random.default_rng(0)
    X = rng.random((50, 4)) * [1, 1000, 1, 1] + [0, 2000, 0, 7]
    if sparse:
        X = X * (rng.random((50, 4)) < [0.1, 0.9, 0.1, 0.1])
    else:
        X[:, 3] = 7
    X = X.astype(np.float32)
    features = Features(csr_array(X), X[:, :0]) if sparse else Features.of(csr_array(X))
    scaled = Scaling.fit(features, name).of(features)
    Z = scaled.as_sparse().toarray()
    if sparse:
        assert np.array_equal(Z[:, [0, 2, 3]] != 0, X[:, [0, 2, 3]] != 0)  # they stay sparse
    else:
        assert np.abs(Z[:, 3]).max() == 0  # constant
    moved = X - np.where((X != 0).mean(axis=0) > 0.5, X.mean(axis=0, dtype=float), 0)
    unit = np.sqrt(np.square(moved).mean(axis=0)) if name == STANDARDISED else np.abs(moved).max(axis=0)
    assert Z[:, :3] == pytest.approx(moved[:, :3] / unit[:3], abs=1e-3)


@pytest.mark.parametrize("name", [STANDARDISED, LARGEST])
@pytest.mark.parametrize("levels", [1, 2])
def test_a_model_of_scaled_features_predicts_by_those_of_the_data(name, levels):
    """Of shifted and scaled data it is the same model."""
    X, Y = measurements(120)
    options = Options(features=name, levels=levels, c=1.0, cost=10.0)
    model, result = train(Problem(X, csr_array(Y)), options)
    other = csr_array((X.toarray() * 4 + 2).astype(np.float32))
    shifted, _ = train(Problem(other, csr_array(Y)), options)
    assert result.scaling == name
    assert model.probabilities(X) == pytest.approx(shifted.probabilities(other), abs=5e-3)


def test_what_is_uneven():
    X, _ = texts(200)
    assert unevenness(Features.of(X)) == (False, None)
    uneven, dominating = unevenness(Features.of(with_years(X)))
    assert uneven
    assert dominating.column == 200
    halves = np.random.default_rng(0).random((200, 60)) * np.repeat([1, 255], 30)
    assert unevenness(Features.of(csr_array(halves.astype(np.float32)))) == (True, None)


def test_a_column_that_dominates_is_named():
    pandas = pytest.importorskip("pandas")
    X, Y = measurements(120)
    frame = pandas.DataFrame(X.toarray(), columns=[*map(str, range(20)), "price"])
    with pytest.warns(MpuWarning, match=r"feature price has (9\d\.\d|100\.0)% of the squared length"):
        model = MPUClassifier(c=1.0, levels=1).fit(frame, Y)
    assert model.record_["scaling"] in SCALINGS
