"""Run each task in its own process, so that one that crashes or runs out of memory does not affect the others.

The processes are forked from a server with one thread, which has already imported and used the modules they need
(`preloaded`). So a process starts in a few hundredths of a second, and cannot inherit a lock held by another thread.
"""

import multiprocessing
import os
import signal
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from mpu_cli.errors import MpuError
from mpu_cli.runtime import signals

_PRELOADED = "mpu_cli.experiment.preloaded"


@dataclass(frozen=True)
class Failure:
    """The reason why a task failed, in one line."""

    message: str


def run(function: Callable[[Any], Any], tasks: Iterable[Any], jobs: int) -> Iterator[tuple[Any, Any]]:
    """Call a function with each task, each in its own process, and yield tasks with their outcomes as they arrive.

    An outcome is the result of the function, or a `Failure`. The function is defined in a module, since the processes
    import it; tasks are picklable; `jobs` processes run at a time. MpuError where no process can be started.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([_PRELOADED])
    waiting = deque(tasks)
    running: dict[Connection, tuple[Any, BaseProcess]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                task = waiting.popleft()
                receiver, sender = context.Pipe(duplex=False)
                process: BaseProcess = context.Process(target=_serve, args=(sender, function, task), daemon=True)
                with signals.unbroken():  # if this process ends in between, the server prints a traceback
                    _start(process)
                sender.close()
                running[receiver] = task, process
            for ready in wait(list(running)):
                assert isinstance(ready, Connection)  # as are all objects waited for
                task, process = running.pop(ready)
                yield task, _outcome(ready, process)
    finally:
        for _, process in running.values():
            process.kill()
            process.join()


def _start(process: BaseProcess) -> None:
    try:
        process.start()
    except OSError as error:
        place = tempfile.gettempdir()
        raise MpuError(
            f"a process cannot be started: {error}; the socket of its server goes to {place}: can that be written to, "
            "and is its name short? TMPDIR names another place"
        ) from error


def _serve(sender: Connection, function: Callable[..., Any], task: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process; the main one decides
    threading.Thread(target=_end_with_the_main_process, daemon=True).start()
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(
            "1000"
        )  # if memory runs out, this process is killed, not the main one
    try:
        outcome = function(task)
    except Exception as error:
        outcome = Failure(_why(error))
    with suppress(BrokenPipeError):  # the main process has just ended
        sender.send(outcome)


def _end_with_the_main_process() -> None:
    """End this process as soon as the main process ends, for whatever reason."""
    main_process = multiprocessing.parent_process()
    assert main_process is not None
    wait([main_process.sentinel])
    os._exit(1)


def _why(error: Exception) -> str:
    message = " ".join(str(error).split())
    if isinstance(error, MpuError):
        return message
    name = "out of memory" if isinstance(error, MemoryError) else type(error).__name__
    return f"{name}: {message}" if message else name


def _outcome(receiver: Connection, process: BaseProcess) -> Any:
    try:
        return receiver.recv()
    except EOFError:
        process.join()
        assert process.exitcode is not None  # since it has ended
        return Failure(_how_it_ended(process.exitcode))
    finally:
        process.join()
        receiver.close()


def _how_it_ended(exit_code: int) -> str:
    if exit_code >= 0:
        return f"the process ended with status {exit_code}"
    name = signal.Signals(-exit_code).name
    return f"the process was killed by {name}" + ", perhaps for lack of memory" * (name == "SIGKILL")
