import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array, hstack
from sklearn.metrics import f1_score
from sklearn.metrics.pairwise import rbf_kernel

from mpu_cli import MPUClassifier
from mpu_cli.core.features import (
    LARGEST,
    SCALINGS,
    STANDARDISED,
    Columns,
    Features,
    RbfFeatures,
    Scaling,
    unevenness,
    unit_rows,
)
from mpu_cli.core.options import Options
from mpu_cli.core.problem import Instances, Problem, kin_of
from mpu_cli.core.stacking import train
from mpu_cli.errors import DataError, MpuWarning
from tests.core.simulated import as_features, as_labels
from tests.golden import refused
from tests.hypotheses import examples
from tests.slow import slow_uncompiled

values = st.just(0) | st.integers(-8, 8)
matrices = st.tuples(st.integers(0, 8), st.integers(0, 6)).flatmap(
    lambda shape: hnp.arrays(np.float32, shape, elements=values)
)


def both_forms(X: np.ndarray) -> list[Features]:
    """The same features as sparse columns, as dense ones, and as some of each."""
    n, D = X.shape
    dense = Features(as_features(np.empty((n, 0))), X)
    sparse = Features(as_features(X), np.empty((n, 0), np.float32))
    return [dense, sparse, Features(as_features(X[:, : D // 2]), X[:, D // 2 :])]


def test_coherence():
    apart, alike = np.eye(100), np.ones((100, 7))
    for X, expected in ((apart, 1.0), (alike, 32.0), (alike[:5], 5.0), (1e30 * alike, 32.0), (0 * alike, 1.0)):
        for features in both_forms(X.astype(np.float32)):
            assert features.coherence == pytest.approx(expected)


@pytest.mark.parametrize("looked_up", [True, False], ids=["by a table", "by search"])
@given(X=matrices, other=matrices)
def test_columns_that_occur(looked_up, X, other):
    with pytest.MonkeyPatch.context() as patch:
        if not looked_up:
            patch.setattr("mpu_cli.core.features._MOST_LOOKED_UP", -1)
        columns = Columns.occurring(as_features(X))
        occurring = np.flatnonzero(X.any(axis=0))
        assert_array_equal(columns.indices, occurring)
        wide = np.hstack([other, np.zeros((len(other), X.shape[1]), np.float32)])
        assert_array_equal(columns.of(as_features(wide)).toarray(), wide[:, occurring])
        assert_array_equal(columns.counts(as_features(wide)), np.count_nonzero(wide[:, occurring], axis=1))


# Instances that are repeated


@pytest.fixture
def twice():
    """Return sixty instances, and each once more, shuffled; and which of them are the same."""
    rng = np.random.default_rng(0)
    order = rng.permutation(120) % 60
    return as_features(rng.normal(size=(60, 4)))[order], order


def test_repeated_instances_are_found_whatever_the_order_of_their_features(twice):
    features, order = twice
    other_way_round = features.copy()
    for of_entries in (other_way_round.indices, other_way_round.data):
        of_entries[:4] = of_entries[3::-1]
    for matrix in (features, other_way_round):
        kin = kin_of(matrix)
        assert_array_equal(order[kin], order)
        assert (kin <= np.arange(120)).all()
        assert Instances.of(Problem(matrix, csr_array((120, 1), dtype=bool))).share_repeated == 0.5


def test_values_and_places_count(twice):
    features, _ = twice
    scaled = features.copy()
    scaled.data[: scaled.indptr[1]] *= 2
    instances = Instances.of(Problem(scaled, csr_array((120, 1), dtype=bool)))
    assert instances.share_repeated == pytest.approx(59 / 120)


# Features of an RBF kernel


def instances(n: int, seed: int = 0) -> np.ndarray:
    """Dense instances of four features of different scales, one of them constant."""
    rng = np.random.default_rng(seed)
    return np.hstack([rng.standard_normal((n, 3)) * [1, 20, 0.1] + [0, 5, 0], np.full((n, 1), 7.0)]).astype(np.float32)


def rings(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Instances whose labels are whether they are far from the middle: no linear function tells."""
    X = instances(n)
    Z = (X[:, :3] - X[:, :3].mean(axis=0)) / X[:, :3].std(axis=0)
    return X, np.stack([np.square(Z[:, :2]).sum(axis=1) > 2, np.square(Z[:, 1:]).sum(axis=1) < 1], axis=1)


@given(n=st.integers(2, 40), gamma=st.sampled_from([0.25, 1.0, 4.0]), seed=st.integers(0, 5))
@settings(max_examples=examples(20))
def test_products_of_features_are_the_kernel_where_all_instances_are_landmarks(n, gamma, seed):
    X = instances(n, seed)
    phi = RbfFeatures.fit(as_features(X), gamma, m=n).of(as_features(X)).toarray()
    deviation = X.std(axis=0)
    deviation[3] = 1
    Z = (X - X.mean(axis=0)) / deviation
    assert phi @ phi.T == pytest.approx(rbf_kernel(Z, gamma=gamma / 4), abs=2e-3)


def test_landmarks_are_drawn_by_any_seed():
    few = [RbfFeatures.fit(csr_array(instances(50)), 1.0, m=5, seed=seed).landmarks for seed in (7, 2**32 + 8)]
    assert not np.array_equal(*few)


def test_an_instance_far_from_all_others_has_features_of_zero():
    X = as_features(instances(50))
    assert np.abs(RbfFeatures.fit(X, 1.0, m=20).of(as_features(np.full((1, 4), 1e30))).data).max() == 0


def f1_of(model, X: csr_array, Y: np.ndarray) -> float:
    predicted = model.probabilities(X) >= model.thresholds
    return 2 * (predicted & Y).sum() / (predicted.sum() + Y.sum())


@slow_uncompiled
def test_a_kernel_is_chosen_where_its_expected_f1_is_higher():
    X, Y = rings(460)
    S = Y & (np.random.default_rng(1).random(Y.shape) < 0.7)
    model, report = train(Problem(as_features(X[:260]), as_labels(S[:260])), Options(c=0.7, levels=1, epochs=3))
    assert model.rbf is not None
    f1 = f1_of(model, as_features(X[260:]), Y[260:])
    assert f1 > 0.85
    assert report.expected_f1 == pytest.approx(f1, abs=0.1)


@pytest.mark.slow
def test_linear_features_are_chosen_where_a_kernel_gains_nothing():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5)).astype(np.float32)
    Y = X @ rng.standard_normal((5, 3)) + rng.standard_normal((300, 3)) > 0.5
    model, _ = train(Problem(as_features(X), as_labels(Y)), Options(c=1.0, levels=1, epochs=5))
    assert model.rbf is None


@pytest.mark.parametrize("change", ["sparse", "wide", "label features"])
def test_a_kernel_is_refused_where_it_is_not_for_the_data(change):
    rng = np.random.default_rng(0)
    X, Y = rings(60)
    if change == "sparse":
        X = np.where(rng.random((60, 30)) < 0.1, 1.0, 0)
    elif change == "wide":
        X = rng.standard_normal((60, 501))
    of_labels = as_features(np.eye(2, X.shape[1])) if change == "label features" else None
    problem = Problem(as_features(X), as_labels(Y), label_features=of_labels)
    with refused(DataError):
        train(problem, Options(features="rbf"))


# One column of numbers far larger than the others ruins neither c nor predictions


def texts(n: int) -> tuple[csr_array, np.ndarray]:
    """Instances of unit length, with counts of words of some of eight topics, which are their labels."""
    rng = np.random.default_rng(0)
    labels = rng.random((n, 8)) < 0.2
    words = labels @ rng.dirichlet(np.full(200, 0.05), 8) + 0.3 / 200
    counts = [rng.multinomial(40, of / of.sum()) for of in words]
    return unit_rows(as_features(counts)), labels


def with_years(matrix: csr_array) -> csr_array:
    years = np.random.default_rng(1).integers(1990, 2024, (matrix.shape[0], 1))
    return csr_array(hstack([matrix, as_features(years)], format="csr"))


def measurements(n: int) -> tuple[csr_array, np.ndarray]:
    """Twenty features from 0 to 1, which tell labels, and one from 0 to 255, which does not."""
    rng = np.random.default_rng(0)
    X = np.hstack([rng.random((n, 20)), rng.integers(0, 256, (n, 1))])
    noise = 0.2 * rng.standard_normal((n, 6))
    return as_features(X), (X[:, :20] - 0.5) @ rng.standard_normal((20, 6)) / 1.3 + noise > 0.6


@pytest.mark.slow  # it chooses all options
@pytest.mark.parametrize("kind", ["texts", "measurements"])
def test_large_numbers_beside_small_ones_ruin_nothing(kind):
    X, Y = texts(600) if kind == "texts" else measurements(600)
    X = with_years(X) if kind == "texts" else X
    S = as_labels(Y & (np.random.default_rng(2).random(Y.shape) < 0.7))[:400]
    model, result = train(Problem(X[:400], S), Options())
    assert result.scaling in SCALINGS or model.rbf is not None
    assert result.chosen.c[0] == pytest.approx(0.7, abs=0.1)
    assert result.expected_f1 == pytest.approx(f1_of(model, X[400:], Y[400:]), abs=0.08)
    assert result.expected_f1 > 0.8
    assert result.chosen.estimates.dominating.column == X.shape[1] - 1
    plain, _ = train(Problem(X[:400], S), Options(features="linear"))
    assert f1_of(plain, X[400:], Y[400:]) < 0.6


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
    features = Features(as_features(X), X[:, :0]) if sparse else Features.of(as_features(X))
    Z = Scaling.fit(features, name).of(features).as_sparse().toarray()
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
    model, result = train(Problem(X, as_labels(Y)), options)
    other = as_features(X.toarray() * 4 + 2)
    shifted, _ = train(Problem(other, as_labels(Y)), options)
    assert result.scaling == name
    assert model.probabilities(X) == pytest.approx(shifted.probabilities(other), abs=5e-3)


def test_what_is_uneven():
    X, _ = texts(200)
    assert unevenness(Features.of(X)) == (False, None)
    uneven, dominating = unevenness(Features.of(with_years(X)))
    assert (uneven, dominating.column) == (True, 200)
    halves = np.random.default_rng(0).random((200, 60)) * np.repeat([1, 255], 30)
    assert unevenness(Features.of(as_features(halves))) == (True, None)
    nearly_constant = np.random.default_rng(0).random((200, 60)) < 0.95
    assert unevenness(Features.of(as_features(nearly_constant))) == (True, None)


def test_small_numbers_are_learned_like_others():
    X, Y = texts(300)
    S = Y & (np.random.default_rng(2).random(Y.shape) < 0.7)
    whole, small = (MPUClassifier(levels=1).fit(X * size, S).record_ for size in (1, np.float32(3e-12)))
    assert small["c"] == pytest.approx(whole["c"], abs=0.03)
    assert small["expected_micro_f1"] == pytest.approx(whole["expected_micro_f1"], abs=0.03)


def test_a_few_instances_that_are_far_longer_ruin_nothing():
    X, Y = texts(500)
    long = np.where(np.arange(500) % 50 == 7, np.float32(1000), np.float32(1))
    S = Y & (np.random.default_rng(2).random(Y.shape) < 0.7)
    f1 = []
    for features in (X, csr_array(X.multiply(long[:, None]), dtype=np.float32)):
        predicted = (
            MPUClassifier(c=0.7, levels=1, features="linear").fit(features[:300], S[:300]).predict(features[300:])
        )
        f1.append(f1_score(Y[300:], predicted, average="micro"))
    assert f1[1] > f1[0] - 0.03


def test_many_long_instances_are_learned_as_they_are():
    """Six in ten say nothing; the lengths of the others tell the labels."""
    rng = np.random.default_rng(0)
    idle = rng.random(600) < 0.6
    X = (rng.random((600, 3)) * np.where(idle, 1e-3, 1)[:, None]).astype(np.float32)
    model = MPUClassifier(c=1.0, levels=1, features="linear").fit(X[:400], X[:400] > [0.5, 0.8, 0.5])
    assert f1_score(X[400:] > [0.5, 0.8, 0.5], model.predict(X[400:]), average="micro") > 0.9


def test_columns_that_are_nearly_always_one_are_scaled():
    """As where a table has a column for each value that is absent: one value in twenty tells the label."""
    rng = np.random.default_rng(0)
    Y = rng.random((400, 8)) < 0.1
    absent = ~np.hstack([Y, rng.random((400, 600)) < 0.05])
    model = MPUClassifier(levels=1).fit(absent[:200].astype(np.float32), Y[:200])
    assert model.record_["scaling"] in SCALINGS
    assert f1_score(Y[200:], model.predict(absent[200:].astype(np.float32)), average="micro") > 0.9


def test_a_column_that_dominates_is_named():
    pandas = pytest.importorskip("pandas")
    X, Y = measurements(120)
    frame = pandas.DataFrame(X.toarray(), columns=[*map(str, range(20)), "price"])
    with pytest.warns(MpuWarning, match=r"feature price has (9\d\.\d|100\.0)% of the squared length"):
        model = MPUClassifier(c=1.0, levels=1).fit(frame, Y)
    assert model.record_["scaling"] in SCALINGS
