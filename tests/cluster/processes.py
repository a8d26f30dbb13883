"""A Dask scheduler and workers in processes of their own, which tests can kill."""

import atexit
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from distributed import Client

_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "20",
    # A cluster that waits for the next test is to leave the processor to others; a profile takes samples all the time.
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "5s",
}
WORKER = "from distributed.cli.dask_worker import main; main()"
# A worker of another version of mpu.
OTHER_VERSION = f"from mpu_cli import version; version.__version__ = '0.0.1'; {WORKER}"
NOTHING: Mapping[str, str] = {}


def worker_with_room(room: int) -> str:
    """A worker that may write no larger files: as on a full disk, the system says so in the middle of one."""
    return f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room})); {WORKER}"


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
        self.scheduler = _Copy("scheduler", options, self._folder)
        wait(lambda: self.file.exists() and self.file.read_text().rstrip().endswith("}"))  # all of it is there
        self.address: str = json.loads(self.file.read_text())["address"]
        self.workers: list[_Copy | subprocess.Popen] = []
        self._others: list[_Copy | subprocess.Popen] = []  # workers that were not asked for at first
        self.client = Client(self.address, set_as_default=False)
        for _ in range(self._n_workers):
            self.add(memory=self._memory)
        self.client.wait_for_workers(self._n_workers, timeout=60)

    def mend(self) -> None:
        """Make the cluster what it was at first, with workers that live and no work, whatever was done to it."""
        if self.scheduler.poll() is None and self.client.status == "running":
            for worker in [worker for worker in self.workers if worker in self._others or worker.poll() is not None]:
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
        self,
        code: str = WORKER,
        *,
        memory: str = "auto",
        settings: Mapping[str, str] = NOTHING,
    ) -> None:
        """Start another worker, with a limit of memory and settings of Dask."""
        options = ("--nthreads", "1", "--memory-limit", memory, "--no-nanny", "--no-dashboard")
        options = (self.address, *options, "--local-directory", str(self._folder))
        if (code, settings) == (WORKER, NOTHING):
            self.workers.append(_Copy("worker", options, self._folder))
        else:
            given = {f"DASK_DISTRIBUTED__WORKER__{name}": value for name, value in settings.items()}
            self.workers.append(self._start(code, options, given))
        if (code, memory, settings) != (WORKER, self._memory, NOTHING):
            self._others.append(self.workers[-1])

    def replace(self, code: str = WORKER, **how: Any) -> None:
        """Start a worker in place of the first one."""
        self.kill_worker()
        self.add(code, **how)
        wait(lambda: len(self.client.nthreads()) == len(self.workers))

    def exchange(self, code: str = WORKER) -> None:
        """Start a worker in place of all others, which are killed when it is there."""
        others = len(self.workers)
        self.add(code)
        self.client.wait_for_workers(others + 1, timeout=60)
        for _ in range(others):
            self.kill_worker()

    def kill_worker(self, which: int = 0) -> None:
        """Kill a worker."""
        worker = self.workers.pop(which)
        worker.kill()
        worker.wait()

    def kill_scheduler(self) -> None:
        """Kill the scheduler."""
        self.scheduler.kill()
        self.scheduler.wait()

    def tasks(self) -> int:
        """Return how many units the scheduler knows of."""
        return self.client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))

    def close(self) -> None:
        """End all."""
        for process in (*self.workers, self.scheduler):
            process.kill()
        for process in (*self.workers, self.scheduler):
            process.wait()
        self.client.close(timeout=1)

    def _start(self, code: str, options: tuple[str, ...], settings: Mapping[str, str]) -> subprocess.Popen:
        with (self._folder / "log.txt").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-c", code, *options],
                stdout=log,
                stderr=log,
                env={**os.environ, **_ENVIRONMENT, **settings},
                cwd=self._folder,
            )


class _Copy:
    """A process that the nursery has started, with what is used here of `subprocess.Popen`."""

    def __init__(self, kind: str, arguments: tuple[str, ...], folder: Path) -> None:
        self.pid: int = _ask("start", kind, arguments, str(folder))
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = _ask("poll", self.pid)
        return self.returncode

    def wait(self) -> int:
        if self.returncode is None:
            self.returncode = _ask("wait", self.pid)
        return self.returncode

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


_asking = threading.Lock()


def _ask(*request: Any) -> Any:
    """Get the answer of the nursery to a request."""
    with _asking:
        nursery = _nursery()
        nursery.stdin.write(json.dumps(request) + "\n")
        nursery.stdin.flush()
        return json.loads(nursery.stdout.readline())


@cache
def _nursery() -> subprocess.Popen:
    command = [sys.executable, "-P", str(Path(__file__).with_name("nursery.py"))]
    how = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": {**os.environ, **_ENVIRONMENT}}
    nursery = subprocess.Popen(command, **how)
    atexit.register(nursery.communicate)  # which closes its input, and so ends it
    return nursery


def wait(until: Callable[[], object], seconds: float = 60) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not until():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.05)
