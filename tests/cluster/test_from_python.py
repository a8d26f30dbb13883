"""`MPUClassifier.fit` with a client: blocks of dask arrays, and files."""

import asyncio
import time
from dataclasses import asdict

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone

from mpu_cli import MPUClassifier, load
from mpu_cli.commands.train import train
from mpu_cli.core.train import mixing
from mpu_cli.errors import ClusterError, DataError, InputError, OverlapError
from mpu_cli.runtime.options import options_of
from mpu_cli.svmlight.reader import read
from tests.cluster.conftest import OPTIONS
from tests.cluster.processes import OTHER_VERSION
from tests.endurance.commands import model_files
from tests.slow import slow

# Few instances do not tell c well.
pytestmark = pytest.mark.filterwarnings("ignore::mpu_cli.MpuWarning")

# The options of the other tests, as parameters, but for those that are chosen.
LARGE = {
    name: value for name, value in asdict(OPTIONS).items() if name in options_of(type(OPTIONS)) and value is not None
}
N, D, Q = 400, 8, 5


@pytest.fixture
def client(processes):
    yield processes.client
    assert_forgotten(processes)


def assert_forgotten(processes) -> None:
    end = time.monotonic() + 30
    while processes.tasks() and time.monotonic() < end:
        time.sleep(0.05)
    assert processes.tasks() == 0


@pytest.fixture
def parts(files):
    """The instances of each file: features and annotated labels."""
    data = [read(path) for path in files]
    return [
        csr_array((one.features.data, one.features.indices, one.features.indptr), shape=(100, D + 1)) for one in data
    ], [csr_array((one.labels.data, one.labels.indices, one.labels.indptr), shape=(100, Q)) for one in data]


def lazy(blocks, kind=csr_array, sizes=None):
    """A dask array of blocks, each of which comes into being on a worker."""
    made = [
        da.from_delayed(
            dask.delayed(kind)(block),
            (size, block.shape[1]),
            meta=kind((0, 0)) if kind is csr_array else None,
            dtype=block.dtype,
        )
        for block, size in zip(blocks, sizes or [block.shape[0] for block in blocks], strict=True)
    ]
    return da.concatenate(made)


def weights(model) -> list[bytes]:
    return [array.tobytes() for level in model._model.predictor.levels for array in (level.weights, level.bias)]


@pytest.mark.parametrize("kind", [csr_array, *slow(csr_matrix, csr_array.toarray)])
def test_arrays_give_the_model_of_the_same_parts_in_files(client, sources, on, parts, tmp_path, kind):
    train(sources, tmp_path / "files.mpu", OPTIONS, on=on)
    x, y = lazy(parts[0], kind), lazy(parts[1], kind)
    model = MPUClassifier(**LARGE, shards=2, classes=range(Q)).fit(x, y, client=client)
    assert model.sparse_output_ == (kind is not csr_array.toarray)
    assert (model.n_features_in_, model.classes_.tolist()) == (D + 1, list(range(Q)))
    assert weights(model) == weights(load(tmp_path / "files.mpu"))
    model.save(tmp_path / "arrays.mpu")
    if kind is csr_array:
        assert model_files(tmp_path / "arrays.mpu") == model_files(tmp_path / "files.mpu")


def test_files_give_the_model_of_the_command(client, files, sources, on, tmp_path):
    train(sources, tmp_path / "there.mpu", OPTIONS, on=on)
    model = MPUClassifier(**LARGE, shards=2).fit(files, client=client)
    model.save(tmp_path / "here.mpu")
    assert model_files(tmp_path / "here.mpu") == model_files(tmp_path / "there.mpu")
    loaded = load(tmp_path / "there.mpu")
    assert model.classes_.tolist() == loaded.classes_.tolist() == list(range(Q))
    assert model.sparse_output_
    assert model.n_features_in_ == loaded.n_features_in_


@pytest.mark.parametrize("options", [{}, {**LARGE, "sample": 40}], ids=["few", "one part"])
def test_few_instances_or_one_block_give_the_model_of_one_machine(client, parts, options):
    x, y = ([blocks[0]] if options else blocks for blocks in parts)
    names = ["e", "d", "c", "b", "a"]
    there = MPUClassifier(**options, classes=names).fit(lazy(x), lazy(y), client=client)
    here = MPUClassifier(**options, classes=names).fit(
        csr_array(np.vstack([b.toarray() for b in x])), np.vstack([b.toarray() for b in y])
    )
    assert weights(there) == weights(here)
    assert there.record_ == here.record_
    np.testing.assert_array_equal(there.thresholds_, here.thresholds_)
    assert there.classes_.tolist() == names


@pytest.mark.parametrize("kind", ["numpy", *slow("dask")])
@pytest.mark.parametrize("options", [{"C": 3.0, "levels": 2}, {**LARGE, "sample": 40}], ids=["few", "one part"])
def test_label_information_is_learned_from_as_on_one_machine(client, parts, options, kind):
    x, y = ([blocks[0]] if "sample" in options else blocks for blocks in parts)
    X, S = (np.vstack([block.toarray() for block in blocks]) for blocks in (x, y))
    n, rng = len(S), np.random.default_rng(0)
    S[:, 3] = False  # never annotated, but verified
    y = [csr_array(some) for some in np.split(S, len(y))]
    known = {
        "reviewed": np.where(S, rng.random(S.shape) < 0.3, -1.0 * (rng.random(S.shape) < 0.1)).astype(int),
        "fully_labelled": np.arange(n) % 9 == 0,
        "ignored": rng.random(S.shape) < 0.02,
        "sampled": np.arange(n) % 3 == 0,
        "label_features": rng.normal(size=(Q, D + 1)),
    }
    known["reviewed"][1:20:2, 3] = 1
    known["ignored"] &= ~known["sampled"][:, None] & (known["reviewed"] == 0)
    there = {name: da.from_array(a, chunks=50) for name, a in known.items()} if kind == "dask" else known
    names = ["e", "d", "c", "b", "a"] if kind == "numpy" else [9, 7, 8, 2, 1]
    model = MPUClassifier(**options, classes=names).fit(lazy(x), lazy(y), client=client, **there)
    here = MPUClassifier(**options, classes=names).fit(csr_array(X), S, **known)
    assert weights(model) == weights(here)
    assert model.record_ == here.record_
    np.testing.assert_array_equal(model.thresholds_, here.thresholds_)
    assert np.isfinite(model.thresholds_).all()


def test_columns_stay_where_they_are_whatever_is_annotated(client, parts):
    x, y = lazy(parts[0]), [block.copy() for block in parts[1]]
    for block in y:
        block.data[block.indices == 1] = False
    c = np.array([0.9, 0.5, 0.6, 0.7, 0.8])
    numbers = [9, 7, 8, 2, 1]  # the model has them in ascending order
    large = {**LARGE, "c": c, "shards": 2, "classes": numbers}
    model = MPUClassifier(**large).fit(x, lazy(y), client=client)
    np.testing.assert_array_equal(model.c_, [0.9, np.nan, 0.6, 0.7, 0.8])
    assert np.isinf(model.thresholds_).tolist() == [False, True, False, False, False]
    proba = model.predict_proba(parts[0][0])
    assert not proba[:, 1].any()
    truth = parts[1][0].toarray()
    assert all(proba[truth[:, k], k].mean() > proba[~truth[:, k], k].mean() for k in (0, 2, 3, 4))


@pytest.mark.slow
def test_persisted_blocks_stay_where_they_are(processes, parts):
    x, y = dask.persist(lazy(parts[0]), lazy(parts[1]), scheduler=processes.client)
    MPUClassifier(**LARGE, shards=2).fit(x, y, client=processes.client)
    assert x.compute(scheduler=processes.client).shape == (N, D + 1)
    del x, y
    assert_forgotten(processes)


def test_an_estimator_with_shards_is_cloned(client, parts):
    model = clone(MPUClassifier(levels=1, shards=3, random_state=2))
    assert model.get_params()["shards"] == 3
    with pytest.raises(DataError, match="shards is 3, and without a cluster there are none"):
        model.fit(parts[0][0], parts[1][0])
    with pytest.raises(DataError, match="shards is 0: give a whole number from 1 to 10,000"):
        MPUClassifier(shards=0).fit(lazy(parts[0]), lazy(parts[1]), client=client)


@pytest.mark.slow
def test_rows_may_be_of_unknown_number_and_blocks_empty(client, parts, files, tmp_path):
    x, y = (lazy([*blocks[:2], blocks[0][:0], *blocks[2:]], sizes=[np.nan] * 5) for blocks in parts)
    model = MPUClassifier(**LARGE, shards=2).fit(x, y, client=client)
    (tmp_path / "empty.svm").write_text("")
    same = [*files[:2], tmp_path / "empty.svm", *files[2:]]
    assert weights(model) == weights(MPUClassifier(**LARGE, shards=2).fit(same, client=client))


def test_the_present_client_of_dask_is_the_default(files, processes):
    with pytest.raises(DataError, match="give client="):
        MPUClassifier(**LARGE).fit(files)
    with processes.client.as_current():
        assert MPUClassifier(**LARGE, shards=2).fit(files).classes_.tolist() == list(range(Q))
    assert_forgotten(processes)


ONE = np.ones((4, 3))


@pytest.mark.parametrize(
    ("X", "y", "said"),
    [
        (da.ones((4, 3), chunks=(2, 3)), None, "y is missing"),
        (ONE, ONE, "X is ndarray, and a cluster learns from dask arrays or a list of files"),
        (da.ones((4, 3), chunks=(2, 3)), ONE, "y is ndarray"),
        (
            da.ones((4, 3), chunks=(2, 3)),
            da.ones((4, 3), chunks=(1, 3)),
            r"X has 2 blocks of 2, 2 rows, and y has 4 blocks",
        ),
        (da.ones((4, 3), chunks=(2, 3)), da.ones((4, 3), chunks=((3, 1), 3)), r"y\.rechunk\(\(X\.chunks\[0\], -1\)\)"),
        (
            da.ones((4, 3), chunks=(2, 2)),
            da.ones((4, 3), chunks=(2, 3)),
            r"X has its columns in 2 chunks: .* X\.rechunk",
        ),
        (da.ones((4, 3), chunks=(2, 3)), da.ones(4, chunks=2), r"y has shape \(4,\)"),
        (da.ones((4, 3), chunks=(2, 3)), da.zeros((4, 3), chunks=(2, 3)), "no instance has a label"),
        (
            da.ones((4, 3), chunks=(2, 3)),
            2 * da.ones((4, 3), chunks=(2, 3)),
            r"block \d: .*y holds other values than 0, 1",
        ),
        (da.ones((4, 3), chunks=(4, 3)) * np.nan, da.ones((4, 3), chunks=(4, 3)), "block 0: Input X contains NaN"),
        (
            da.from_delayed(dask.delayed(ONE), (4, 2), float),
            da.ones((4, 3), chunks=(4, 3)),
            r"block 0: X has shape \(4, 3\)",
        ),
        (
            da.from_delayed(dask.delayed(ONE), (4, 3), float),
            da.from_delayed(dask.delayed(ONE[1:]), (4, 3), float),
            r"block 0: .*y has \(3, 3\)",
        ),
    ],
)
def test_what_cannot_be_learned_from_is_told(client, X, y, said):
    with pytest.raises(DataError, match=said):
        MPUClassifier(**LARGE).fit(X, y, client=client)


def test_arguments_that_a_cluster_cannot_use_are_refused(client, files, parts):
    x, y = lazy(parts[0]), lazy(parts[1])
    for model, arguments, said in [
        (MPUClassifier(method="br"), {}, "by the method mpu, not by br"),
        (
            MPUClassifier(),
            {"fully_labelled": np.ones(N - 1, bool)},
            "fully_labelled: give True or False for each of the 400",
        ),
        (MPUClassifier(), {"label_features": np.ones((Q, D))}, r"label_features has shape \(5, 8\)"),
        (MPUClassifier(), {"reviewed": da.ones((N, 1), chunks=50)}, r"reviewed has shape \(400, 1\)"),
        (MPUClassifier(c=[0.5]), {}, r"c has shape \(1,\), and there are 5 labels"),
        (MPUClassifier(classes=["a"]), {}, r"classes has shape \(1,\)"),
    ]:
        with pytest.raises(DataError, match=said):
            model.fit(x, y, client=client, **arguments)
    with pytest.raises(DataError, match="give neither y nor classes"):
        MPUClassifier().fit(files, y, client=client)
    with pytest.raises(DataError, match="X names files, and sampled is an array of their labels"):
        MPUClassifier().fit(files, sampled=np.ones(N, bool), client=client)
    with pytest.raises(DataError, match="client is str: give a distributed"):
        MPUClassifier().fit(x, y, client="tcp://scheduler:8786")
    with pytest.raises(OverlapError, match="may be named once only"):
        MPUClassifier().fit([*files, files[0]], client=client)
    with pytest.raises(InputError, match=r"none\.svm: "):
        MPUClassifier().fit([*files, "none.svm"], client=client)


def test_a_client_that_cannot_be_used_is_refused(processes, parts):
    x, y = lazy(parts[0]), lazy(parts[1])
    closed = Client(processes.address, set_as_default=False)
    closed.close()
    with pytest.raises(ClusterError, match="the client is closed"):
        MPUClassifier().fit(x, y, client=closed)

    async def fit():
        async with Client(processes.address, asynchronous=True, set_as_default=False) as client:
            MPUClassifier().fit(x, y, client=client)

    with pytest.raises(DataError, match="client is asynchronous"):
        asyncio.run(fit())


def test_a_worker_of_another_version_is_refused(processes, parts):
    processes.add(OTHER_VERSION)
    processes.client.wait_for_workers(3, timeout=60)
    with pytest.raises(ClusterError, match=r"has mpu 0\.0\.1"):
        MPUClassifier(**LARGE).fit(lazy(parts[0]), lazy(parts[1]), client=processes.client)


@pytest.mark.slow
def test_a_worker_that_dies_changes_nothing(processes, parts, monkeypatch):
    x, y = lazy(parts[0]), lazy(parts[1])
    expected = MPUClassifier(**LARGE, shards=2).fit(x, y, client=processes.client)
    learn, deaths = mixing.Mixing.learn, []

    def die_once(*arguments):
        if not deaths:
            deaths.append(processes.kill_worker())
        return learn(*arguments)

    monkeypatch.setattr(mixing.Mixing, "learn", die_once)
    assert weights(MPUClassifier(**LARGE, shards=2).fit(x, y, client=processes.client)) == weights(expected)
    assert deaths


@pytest.mark.parametrize("error", [KeyboardInterrupt, *slow(RuntimeError)])
def test_after_an_interruption_nothing_stays_on_the_cluster(processes, parts, monkeypatch, error):
    def fail(*_):
        raise error

    monkeypatch.setattr(mixing.Mixing, "mean", fail)
    with pytest.raises(error) as kept:  # and with it all frames that hold futures
        MPUClassifier(**LARGE, shards=2).fit(lazy(parts[0]), lazy(parts[1]), client=processes.client)
    assert_forgotten(processes)
    assert processes.client.status == "running"
    assert kept.value is not None
