"""A Dask scheduler and workers in processes of their own, which tests can kill."""

import json
import os
import resource
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import dask.config
from distributed import Client
from distributed.cli.dask_scheduler import main as _dask_scheduler
from distributed.cli.dask_worker import main as _dask_worker
from threadpoolctl import threadpool_limits

from mpu_cli.cluster import dask_executor
from tests import forked

_SETTINGS = {
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "20",
    # A cluster that waits for the next test is to leave the processor to others; a profile takes samples all the time.
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "5s",
}
NOTHING: Mapping[str, str] = {}


def _scheduler() -> None:
    dask.config.refresh()  # by the environment
    _dask_scheduler()


def worker() -> None:
    dask.config.refresh()
    with threadpool_limits(1):
        _dask_worker()


def worker_of_another_version() -> None:
    dask_executor.__version__ = "0.0.1"
    worker()


def worker_with_room(room: int) -> None:
    """A worker that may write no larger files: as on a full disk, the system says so in the middle of one."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    worker()


class Processes:
    """A scheduler, and workers with one thread each and no nanny, so that a dead one stays dead."""

    def __init__(self, folder: Path, workers: int = 2, memory: str = "auto") -> None:
        self._folder = folder
        self._n_workers, self._memory = workers, memory
        self.file = folder / "scheduler.json"
        self._begin()

    def _begin(self) -> None:
        self.file.unlink(missing_ok=True)
        options = ("--scheduler-file", str(self.file), "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        self.scheduler = self._start(_scheduler, options)
        wait(lambda: self.file.exists() and self.file.read_text().rstrip().endswith("}"))  # all of it is there
        self.address: str = json.loads(self.file.read_text())["address"]
        self.workers: list[BaseProcess] = []
        self._others: list[BaseProcess] = []  # workers that were not asked for at first
        self.client = Client(self.address, set_as_default=False)
        for _ in range(self._n_workers):
            self.add(memory=self._memory)
        self.client.wait_for_workers(self._n_workers, timeout=60)

    def mend(self) -> None:
        """Make the cluster what it was at first, with workers that live and no work, whatever was done to it."""
        if self.scheduler.is_alive() and self.client.status == "running":
            for worker in [worker for worker in self.workers if worker in self._others or not worker.is_alive()]:
                self.kill_worker(self.workers.index(worker))
            while len(self.workers) > self._n_workers:
                self.kill_worker()
            while len(self.workers) < self._n_workers:
                self.add(memory=self._memory)
            with suppress(TimeoutError):
                wait(lambda: len(self.client.nthreads()) == self._n_workers and not self.tasks(), seconds=10)
                return
        self.close()
        self._begin()

    def add(
        self, kind: Callable[[], None] = worker, *, memory: str = "auto", settings: Mapping[str, str] = NOTHING
    ) -> None:
        """Start another worker, with a limit of memory and settings of Dask."""
        options = ("--nthreads", "1", "--memory-limit", memory, "--no-nanny", "--no-dashboard")
        options = (self.address, *options, "--local-directory", str(self._folder))
        given = {f"DASK_DISTRIBUTED__WORKER__{name}": value for name, value in settings.items()}
        self.workers.append(self._start(kind, options, given))
        if (kind, memory, settings) != (worker, self._memory, NOTHING):
            self._others.append(self.workers[-1])

    def replace(self, kind: Callable[[], None] = worker, **how: Any) -> None:
        """Start a worker in place of the first one."""
        self.kill_worker()
        self.add(kind, **how)
        wait(lambda: len(self.client.nthreads()) == len(self.workers))

    def exchange(self, kind: Callable[[], None] = worker) -> None:
        """Start a worker in place of all others, which are killed when it is there."""
        others = len(self.workers)
        self.add(kind)
        self.client.wait_for_workers(others + 1, timeout=60)
        for _ in range(others):
            self.kill_worker()

    def kill_worker(self, which: int = 0) -> None:
        worker = self.workers.pop(which)
        worker.kill()
        worker.join()

    def kill_scheduler(self) -> None:
        self.scheduler.kill()
        self.scheduler.join()

    def tasks(self) -> int:
        """Return how many units the scheduler knows of."""
        return self.client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))

    def close(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
        for process in (*self.workers, self.scheduler):
            process.join()
        self.client.close(timeout=1)

    def _start(
        self, program: Callable[[], None], options: tuple[str, ...], settings: Mapping[str, str] = NOTHING
    ) -> BaseProcess:
        environment = {**os.environ, **_SETTINGS, **settings}
        with (self._folder / "log.txt").open("ab") as log, Path(os.devnull).open() as nothing:
            streams = nothing.fileno(), log.fileno(), log.fileno()
            return forked.start(program, options, streams, str(self._folder), environment, daemon=True)


def wait(until: Callable[[], object], seconds: float = 60) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not until():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.05)
