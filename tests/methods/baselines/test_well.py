import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn.metrics import f1_score
from sklearn.metrics.pairwise import cosine_similarity as cosine_similarity_of
from sklearn.neighbors import kneighbors_graph

from mpu_cli.core import limits
from mpu_cli.errors import MpuError, TooLargeError
from mpu_cli.methods.baselines import WellOptions, well
from mpu_cli.methods.baselines.m3l import cosine_similarity
from mpu_cli.methods.baselines.well import Graph, choose_gamma, nearest_neighbours
from mpu_cli.runtime.run import Run
from tests.core.simulated import as_features, as_labels, hide
from tests.slow import slow


def problem(n=40, q=3, seed=0) -> tuple[Graph, np.ndarray, np.ndarray]:
    """A graph, the Laplacians of its labels (q x n x n) by their definition, and the annotations."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    S = rng.random((n, q)) < 0.2
    S[0] = True
    W = np.exp(-2 * ((X[:, None] - X) ** 2).sum(axis=2))
    np.fill_diagonal(W, 0)
    scale, R = 0.7, cosine_similarity(as_labels(S))
    laplacians = []
    for k in range(q):
        similar = W + sum(scale * R[k, j] * np.outer(S[:, j], S[:, j]) / S[:, j].sum() for j in range(q))
        laplacians.append(np.diag(similar.sum(axis=1)) - similar)
    return Graph.of(W.astype(np.float32), as_labels(S), scale), np.array(laplacians), S


def objective(f, L, s, alpha, beta):
    return alpha * f @ L @ f + beta * ((f[s] - 1) ** 2).sum() + f.sum()


def gradient(f, L, s, alpha, beta):
    return 2 * alpha * L @ f + 2 * beta * s * (f - 1) + 1


@pytest.mark.parametrize("sparse_below", [0, *slow(1)])
@pytest.mark.parametrize(("alpha", "beta"), [(100.0, 10.0), (1.0, 10.0), (0.1, 0.4), (10.0, 1000.0)])
def test_the_solution_is_that_of_an_exact_solver(alpha, beta, sparse_below, monkeypatch):
    monkeypatch.setattr(well, "_SPARSE_BELOW", sparse_below)
    monkeypatch.setattr(well, "TOLERANCE", 1e-6)
    graph, laplacians, S = problem()
    f, _, residual = well.solve(graph, slice(0, 3), alpha, beta)
    assert f.dtype == np.float32
    assert residual <= 1e-6
    for k in range(3):
        of_label = laplacians[k], S[:, k], alpha, beta
        exact = minimize(
            objective,
            S[:, k].astype(float),
            of_label,
            "L-BFGS-B",
            gradient,
            bounds=[(0, 1)] * 40,
            options={"maxiter": 10_000, "ftol": 1e-15, "gtol": 1e-9},
        )
        assert objective(f[:, k].astype(float), *of_label) == pytest.approx(exact.fun, rel=1e-4)
        assert_allclose(f[:, k], exact.x, atol=0.01)


def test_the_residual_is_the_distance_from_the_optimality_conditions():
    graph, laplacians, S = problem(seed=1)
    f, *_ = well.solve(graph, slice(1, 2), 100.0, 10.0)
    f = f[:, 0].astype(float)
    slope = gradient(f, laplacians[1], S[:, 1], 100.0, 10.0)
    bound = 4 * 100 * np.diagonal(laplacians[1]) + 2 * 10 * S[:, 1]
    assert np.abs(f - np.clip(f - slope / bound, 0, 1)).max() < 3 * well.TOLERANCE


def test_blocks_of_labels_are_independent(monkeypatch):
    monkeypatch.setattr(well, "TOLERANCE", 1e-6)
    graph, *_ = problem()
    together = well.solve(graph, slice(0, 3), 10.0, 10.0)[0]
    alone = [well.solve(graph, slice(k, k + 1), 10.0, 10.0)[0] for k in range(3)]
    assert_allclose(together, np.hstack(alone), atol=1e-3)


@pytest.mark.parametrize(("alpha", "beta"), [(100.0, 10.0), (1.0, 10.0), (0.5, 100.0)])
@pytest.mark.parametrize("rows", [7, 256])
def test_the_best_cut_is_that_of_trying_all(rows, alpha, beta, monkeypatch):
    monkeypatch.setattr(well, "_ROWS", rows)
    graph, laplacians, S = problem(seed=2)
    for k in range(3):
        f = np.round(np.random.default_rng(k).random(40), 1).astype(np.float32) * 0.9
        cuts = np.unique(f[f > 0]).tolist()
        costs = [objective((f >= t).astype(float), laplacians[k], S[:, k], alpha, beta) for t in cuts]
        assert well.best_cut(graph, f, k, alpha, beta) == cuts[int(np.argmin(costs))]


def test_no_positive_value_is_no_cut():
    graph, *_ = problem()
    assert well.best_cut(graph, np.zeros(40, np.float32), 0, 100.0, 10.0) == 1


def clusters(n=600, seed=0):
    """Six clusters, each with a label of its own, and a label of the first three."""
    rng = np.random.default_rng(seed)
    cluster = rng.integers(6, size=n)
    X = 4 * np.eye(6)[cluster] + rng.normal(0, 0.3, (n, 6))
    return X, np.column_stack([np.eye(6, dtype=bool)[cluster], cluster < 3])


@pytest.mark.parametrize(
    ("reading", "least"),
    [
        ({}, 0.95),
        ({"sharing": 0.0}, 0.95),
        ({"graph": "rbf", "gamma": 0.5}, 0.95),
        ({"graph": "rbf"}, 0.85),
        ({"graph": "cosine"}, 0.85),
    ],
    ids=repr,
)
@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_labels_spread_over_clusters(missing, reading, least):
    X, Y = clusters()
    S = hide(Y[:500], missing)
    model, report = well.train(as_features(X[:500]), S, as_features(X[500:]), WellOptions(**reading), run=Run(jobs=1))
    predicted = model.probabilities(as_features(X[500:])) >= model.thresholds
    assert f1_score(Y[500:], predicted, average="micro") > least
    assert report.empty_labels == (~predicted.any(axis=0)).sum()
    assert report.residual <= well.TOLERANCE


@pytest.mark.parametrize("rows", [7, 256])
def test_neighbours_are_those_of_scikit_learn(rows, monkeypatch):
    monkeypatch.setattr(well, "_ROWS", rows)
    X = np.abs(clusters(60)[0])
    nearest = kneighbors_graph(X, 4, mode="distance", metric="cosine").toarray()
    expected = np.where(nearest > 0, 1 - nearest, 0)
    expected = np.maximum(expected, expected.T)
    expected *= 0.3 / np.median(expected.sum(axis=1))
    found = nearest_neighbours(as_features(X), 4, 0.3)
    assert_allclose(found.toarray(), expected, atol=1e-5)
    every = nearest_neighbours(as_features(X), None, 0.3)
    cosines = cosine_similarity_of(X) - np.eye(60)
    assert_allclose(every, cosines * 0.3 / np.median(cosines.sum(axis=1)), atol=1e-5)


def test_neighbours_of_huge_indices():
    matrix = csr_array((np.ones(4, np.float32), [3, 2**31 - 2, 3, 5], [0, 2, 3, 4]), shape=(3, 2**31 - 1))
    assert_allclose(nearest_neighbours(matrix, 1, 1.0).toarray(), [[0, 1, 0], [1, 0, 0], [0, 0, 0]], atol=1e-6)


def test_correlated_labels_lend_their_values():
    """Instances apart from each other: half of those with label 0 are annotated with label 1, none of the others."""
    S = np.zeros((40, 2), bool)
    S[:20, 0] = S[:10, 1] = True
    W = np.full((40, 40), 1e-3, np.float32)
    np.fill_diagonal(W, 0)
    f, *_ = well.solve(Graph.of(W, as_labels(S), 0.05), slice(0, 2), 100.0, 10.0)
    assert f[10:20, 1].min() > f[20:, 1].max() + 0.05


@pytest.mark.parametrize("degree", [0.01, 0.5, 5.0])
def test_gamma_gives_the_median_degree(degree):
    X, _ = clusters()
    gamma = choose_gamma(as_features(X), degree, 0)
    W = np.exp(-gamma * ((X[:, None] - X) ** 2).sum(axis=2))
    assert np.median(W.sum(axis=1)) - 1 == pytest.approx(degree, rel=0.25)


def test_instances_of_unequal_width():
    """Unlabelled instances may have features that training ones have not, and the other way round."""
    X, Y = clusters(120)
    wide = csr_array(np.hstack([X[100:], np.ones((20, 3))]).astype(np.float32))
    model, _ = well.train(as_features(X[:100]), as_labels(Y[:100]), wide, WellOptions(), run=Run(jobs=1))
    assert model.n_features == 9
    assert model.probabilities(wide).shape == (20, 7)
    with pytest.raises(MpuError, match="and no others"):
        model.probabilities(wide[:19])


def test_any_number_of_threads_is_the_same_model(monkeypatch):
    monkeypatch.setattr(well, "_BLOCK_SIZE", 2)
    X, Y = clusters()
    one, two = (
        well.train(as_features(X[:500]), as_labels(Y[:500]), as_features(X[500:]), WellOptions(), run=Run(jobs=jobs))
        for jobs in (1, 2)
    )
    assert_array_equal(one[0].values, two[0].values)
    assert_array_equal(one[0].thresholds, two[0].thresholds)
    assert one[1] == two[1]


def test_too_many_instances_are_refused(monkeypatch):
    monkeypatch.setattr(limits, "available_memory", lambda: 10_000_000)
    X, Y = clusters(3000)
    problem = as_features(X[:2000]), as_labels(Y[:2000]), as_features(X[2000:])
    with pytest.raises(TooLargeError, match=r"3,000 x 3,000 instances.* take 72,168,000 bytes.*train on fewer"):
        well.train(*problem, WellOptions(graph="cosine"))
    with pytest.raises(TooLargeError, match=r"3,000 x 2,000 instances.* take 48,168,000 bytes"):
        well.train(*problem, WellOptions(neighbours=500))


def test_a_single_instance():
    one = as_features([[1.0]])
    model, report = well.train(one, as_labels([[True]]), one, WellOptions(), run=Run(jobs=1))
    assert (model.probabilities(one) >= model.thresholds).all()
    assert report.gamma is None


@pytest.mark.parametrize("reading", [{}, {"graph": "rbf"}, *({"graph": "rbf", "gamma": g} for g in (1e-30, 1e30))])
@pytest.mark.parametrize(("alpha", "beta"), [(1e-6, 1e6), (1e6, 1e-6), (100.0, 10.0)])
@pytest.mark.parametrize("X", [[[2.0, 3.0]] * 6, [[1e38, 1e-38], [1e38, 1], [1, -1e38], [1e-45, 0], [1e20, 0], [0, 0]]])
def test_odd_features_and_options(X, reading, alpha, beta):
    """It is refused in words, or there are values between 0 and 1."""
    S = as_labels(np.eye(6, dtype=bool)[:, :2])
    try:
        options = WellOptions(**reading, alpha=alpha, beta=beta)
        model, _ = well.train(as_features(X), S, as_features(X), options, run=Run(jobs=1))
    except MpuError:
        return
    values = model.probabilities(as_features(X))
    assert ((values >= 0) & (values <= 1)).all()
