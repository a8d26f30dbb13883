"""Fixtures: the command line in process, the bundled digits, the shared real sets."""

import fcntl
import gc
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import settings
from sklearn.feature_extraction.text import TfidfVectorizer

from mpu_cli.cli.commands import mpu
from tests import forked, golden, kernels
from tests.served import Files, serving

ROOT = Path(__file__).parent.parent
DIGITS = ROOT / "data" / "digits-train.svm", ROOT / "data" / "digits-test.svm"
SHARED = ROOT.parent / "shared" / "data"

# Fixtures whose tests take longest: a browser, a cluster, pages of commands, scripts of the gallery.
LONGEST = ("chromium", "_processes", "shell", "after")

# How long an example takes says nothing where other tests run at the same time. `make test` takes the second profile.
# It has the same examples each time, and so has CI: a change is refused for what it does. `make test-all` tries others.
settings.register_profile("full", deadline=None, derandomize="CI" in os.environ)
settings.register_profile("quick", deadline=None, max_examples=25, derandomize=True)
settings.load_profile("full")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="Renew the files of what is printed: tests/golden.")


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()  # until tests are collected: imports leave no garbage worth the time
    golden.updating = config.getoption("update_golden")
    if golden.updating and config.getoption("numprocesses", None):
        raise pytest.UsageError("--update-golden takes one process: leave out -n")


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_sessionfinish() -> None:
    if golden.updating:
        golden.renew()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Deal out what takes long to the processes, each of which begins with it: both are busy to the end.

    A process gets an equal run of consecutive tests; one that has no more to do takes tests from the end of another's,
    but never its last two. So quick ones are there. One process has a browser for all, and one a cluster. Tests of a
    module stay together, since they share fixtures.
    """
    slow = {item.path for item in items if "slow" in item.keywords}
    is_long = len(LONGEST)

    def rank(item: pytest.Item) -> int:
        longest = (i for i, name in enumerate(LONGEST) if name in item.fixturenames)
        return next(longest, is_long if item.path in slow else is_long + 1)

    items.sort(key=rank)
    quick = [item for item in items if rank(item) > is_long]
    by_length = groupby(items[: -len(quick) or None], lambda item: (rank(item), item.path))
    groups = [list(group) for _, group in by_length]
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1))
    n = len(items)
    items.clear()
    for k in range(processes):
        items += chain.from_iterable(groups[k::processes])
        room = max(0, n * (k + 1) // processes - len(items))
        items += quick[:room]
        del quick[:room]
    items += quick


@pytest.fixture(scope="session", autouse=True)
def heeding():
    """Let what tests start heed the signals that `nohup` and `&` have ignored: that is inherited, a handler is not."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


@pytest.fixture(scope="session", autouse=True)
def compiled(tmp_path_factory):
    """Compile the fast kernels, where numba is installed, before any test looks at standard error.

    Of two processes each begins with other kernels, and takes from the cache what the other has compiled.
    """
    if not kernels.NUMBA:
        return
    is_second = os.environ.get("PYTEST_XDIST_WORKER") == "gw1"
    for number, compile_kernel in list(enumerate(kernels.compilations()))[:: -1 if is_second else 1]:
        with locked(shared_folder(tmp_path_factory) / f"kernel-{number}"):
            compile_kernel()


def shared_folder(tmp_path_factory) -> Path:
    """Return a directory that all processes of a test run have."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let one process at a time do something that a path stands for."""
    with path.with_name(f"{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class Command:
    """``mpu`` with arguments, and bytes for standard input: gives click's Result (exit_code, stdout, stderr)."""

    def __call__(self, *args, stdin: bytes | None = None) -> Result:
        result = CliRunner().invoke(mpu, [str(arg) for arg in args], input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    def ok(self, *args, **more) -> Result:
        """Run what has to succeed."""
        result = self(*args, **more)
        assert result.exit_code == 0, result.stderr
        return result

    def json(self, *args, **more) -> dict[str, Any]:
        """Return the report of what has to succeed."""
        return json.loads(self.ok(*args, "--json", **more).stdout)


@pytest.fixture(scope="session")
def run() -> Command:
    return Command()


@pytest.fixture(scope="session")
def mpu_program() -> Iterator[str]:
    """The text of a program `mpu` for shells."""
    with forked.shell_program() as text:
        yield text


@pytest.fixture(scope="session")
def made(run, tmp_path_factory):
    """Give the directory that a function of `run` and that directory fills: once for all processes of a test run.

    It is for all tests to look at. What a test changes, or what has other files beside it, is a copy.
    """

    def directory(fill: Callable[[Callable, Path], None]) -> Path:
        folder = shared_folder(tmp_path_factory) / f"{fill.__module__}.{fill.__name__}"
        with locked(folder):
            if not folder.exists():
                folder.mkdir()
                try:
                    fill(run, folder)
                except BaseException:
                    shutil.rmtree(folder)
                    raise
        return folder

    return directory


@pytest.fixture
def copied(made, tmp_path):
    """Copy what a function has `made` into the directory of the test; give that."""
    return lambda fill: shutil.copytree(made(fill), tmp_path, dirs_exist_ok=True)


@pytest.fixture
def file(tmp_path) -> Callable[..., Path]:
    """Write a file; give its path."""

    def write(content: str | bytes, name: str = "small.txt") -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture
def served(monkeypatch) -> Iterator[tuple[str, Files]]:
    """A URL, and what is served there by path: to be filled."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    files: Files = {}
    with serving(files) as url:
        yield url, files


@pytest.fixture
def memory():
    """The file system of memory:// URLs, empty before and after."""
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    system.store.clear()
    yield system
    system.store.clear()


@pytest.fixture(scope="session")
def _processes(tmp_path_factory):
    from tests.cluster.processes import Processes  # the import takes a while, and few tests want it

    started = Processes(tmp_path_factory.mktemp("dask"))
    yield started
    started.close()


@pytest.fixture
def processes(_processes):
    """A cluster of a scheduler and two workers, which a test may harm: it is mended before the next one."""
    _processes.mend()
    return _processes


@pytest.fixture
def cluster(processes) -> str:
    """The address of that cluster."""
    return processes.address


@pytest.fixture(scope="module", params=kernels.AVAILABLE)
def kernel(request):
    """Run a test with each kernel."""
    with kernels.default(request.param):
        yield request.param


@pytest.fixture(scope="session")
def digits() -> tuple[Path, Path]:
    """Training and test file of the bundled digits."""
    return DIGITS


@pytest.fixture(params=["reuters-topics", "bibtex", "yeast"])
def shared_set(request) -> tuple[Path, Path]:
    """Training and test file of a real set; skips where they are absent."""
    paths = SHARED / f"{request.param}-train.svm.gz", SHARED / f"{request.param}-test.svm.gz"
    if not all(path.exists() for path in paths):
        pytest.skip("the shared real sets are not here")
    return paths


@pytest.fixture(scope="session")
def instances() -> list[str]:
    """Lines of data with few words each, learned in a moment: half of each label's six words, and five of no label."""
    rng, lines = np.random.default_rng(0), []
    for labels in rng.random((1500, 10)) < 0.35:
        words = [6 * k + i for k in np.flatnonzero(labels) for i in rng.choice(6, 3, replace=False)]
        words += [60 + i for i in rng.choice(100, 5, replace=False)]
        numbers = ",".join(map(str, np.flatnonzero(labels) + 1))
        lines.append(numbers + "".join(f" {k + 1}:1" for k in sorted(words)) + "\n")
    return lines


@pytest.fixture(scope="session")
def dense():
    """TF-IDF of texts on four topics, each with words of its own; true labels; annotated ones: a third is missing."""
    rng = np.random.default_rng(0)
    truth = rng.random((240, 4)) < 0.3
    words = np.array([[f"word{k}{i}" for i in range(5)] for k in range(4)])
    texts = [
        " ".join([*rng.choice(words[row].ravel(), 6), "the", "of"] if row.any() else ["the", "of", "none"])
        for row in truth
    ]
    X, S = TfidfVectorizer().fit_transform(texts).toarray(), truth & (rng.random(truth.shape) < 0.67)
    return X, truth.astype(int), S.astype(int)


@pytest.fixture
def mounted(tmp_path):
    """Mount a file system of its own; skips where that is not allowed."""
    folder = tmp_path / "mounted"
    folder.mkdir()

    def mount(*options) -> bool:
        return subprocess.run(["mount", "-t", "tmpfs", *options, "tmpfs", folder], capture_output=True).returncode == 0

    if os.geteuid() or not mount("-o", "size=4m"):
        pytest.skip("no permission to mount a file system")
    yield folder
    subprocess.run(["umount", folder], check=True)
