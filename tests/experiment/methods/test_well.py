import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn.metrics import f1_score
from sklearn.metrics.pairwise import cosine_similarity

from mpu_cli.core import predictions
from mpu_cli.errors import MpuError, TooLargeError
from mpu_cli.experiment.methods import well
from mpu_cli.experiment.methods.well import Graph, nearest_neighbours
from tests.core.simulated import as_features, as_labels, hide


def problem(n=40, q=3, seed=0) -> tuple[Graph, np.ndarray, np.ndarray]:
    """A graph, the Laplacians of its labels (q x n x n) by their definition, and the annotations."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    S = rng.random((n, q)) < 0.2
    S[0] = True
    W = np.exp(-2 * ((X[:, None] - X) ** 2).sum(axis=2))
    np.fill_diagonal(W, 0)
    scale, R = 0.7, cosine_similarity(S.T.astype(float))
    laplacians = []
    for k in range(q):
        similar = W + sum(scale * R[k, j] * np.outer(S[:, j], S[:, j]) / S[:, j].sum() for j in range(q))
        laplacians.append(np.diag(similar.sum(axis=1)) - similar)
    return Graph(csr_array(W.astype(np.float32)), as_labels(S), scale), np.array(laplacians), S


def objective(f, L, s, alpha, beta):
    return alpha * f @ L @ f + beta * ((f[s] - 1) ** 2).sum() + f.sum()


def gradient(f, L, s, alpha, beta):
    return 2 * alpha * L @ f + 2 * beta * s * (f - 1) + 1


@pytest.mark.parametrize(("alpha", "beta"), [(100.0, 10.0), (1.0, 10.0), (0.1, 0.4), (10.0, 1000.0)])
def test_the_solution_is_that_of_an_exact_solver(alpha, beta, monkeypatch):
    monkeypatch.setattr(well, "TOLERANCE", 1e-6)
    graph, laplacians, S = problem()
    f = well.solve(graph, slice(0, 3), alpha, beta)
    assert f.dtype == np.float32
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


@pytest.mark.parametrize(("alpha", "beta"), [(100.0, 10.0), (1.0, 10.0), (0.5, 100.0)])
def test_the_best_cut_is_that_of_trying_all(alpha, beta):
    graph, laplacians, S = problem(seed=2)
    for k in range(3):
        f = np.round(np.random.default_rng(k).random(40), 1).astype(np.float32) * 0.9
        cuts = np.unique(f[f > 0]).tolist()
        costs = [objective((f >= t).astype(float), laplacians[k], S[:, k], alpha, beta) for t in cuts]
        assert well.best_cut(graph, f, k, alpha, beta) == cuts[int(np.argmin(costs))]


def clusters(n=600, seed=0):
    """Six clusters, each with a label of its own, and a label of the first three."""
    rng = np.random.default_rng(seed)
    cluster = rng.integers(6, size=n)
    X = 4 * np.eye(6)[cluster] + rng.normal(0, 0.3, (n, 6))
    return X, np.column_stack([np.eye(6, dtype=bool)[cluster], cluster < 3])


def fit(X, S, T, **options) -> well.Method:
    made = well.Method(**options)
    made.fit(as_features(X), S, as_features(T))
    return made


@pytest.mark.parametrize("sharing", [0.0, 0.25])
@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_labels_spread_over_clusters(missing, sharing):
    X, Y = clusters()
    made = fit(X[:500], hide(Y[:500], missing), X[500:], sharing=sharing)
    predicted = made.predict(as_features(X[500:])) >= made.threshold
    assert f1_score(Y[500:], predicted, average="micro") > 0.95


def test_neighbours_are_the_four_most_similar_others():
    X = np.abs(clusters(60)[0])
    similar = cosine_similarity(X)
    np.fill_diagonal(similar, 0)
    expected = np.where(similar >= np.sort(similar, axis=1)[:, -4:-3], similar, 0)
    expected = np.maximum(expected, expected.T)
    expected *= 0.3 / np.median(expected.sum(axis=1))
    assert_allclose(nearest_neighbours(as_features(X), 4, 0.3).toarray(), expected, atol=1e-5)


def test_too_many_instances_are_refused(monkeypatch):
    monkeypatch.setattr(predictions, "available_memory", lambda: 10_000_000)
    X, Y = clusters(3000)
    with pytest.raises(TooLargeError, match=r"3,000 x 2,000 instances.* take 48,168,000 bytes"):
        fit(X[:2000], as_labels(Y[:2000]), X[2000:], neighbours=500)


@pytest.mark.parametrize(("alpha", "beta"), [(1e-6, 1e6), (1e6, 1e-6), (100.0, 10.0)])
@pytest.mark.parametrize("X", [[[2.0, 3.0]] * 6, [[1e38, 1e-38], [1e38, 1], [1, -1e38], [1e-45, 0], [1e20, 0], [0, 0]]])
def test_odd_features_and_options(X, alpha, beta):
    """It is refused in words, or there are values between 0 and 1."""
    try:
        values = fit(X, as_labels(np.eye(6, dtype=bool)[:, :2]), X, alpha=alpha, beta=beta).values
    except MpuError:
        return
    assert ((values >= 0) & (values <= 1)).all()
