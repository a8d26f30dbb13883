"""Processes that are forked from one that has loaded what they need, so that each begins at once."""

import json
import multiprocessing
import os
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import DupFd
from operator import methodcaller
from pathlib import Path

from mpu_cli.cli import commands

_ACTIONS = [path.stem for path in (Path(__file__).parents[1] / "mpu_cli" / "cli" / "actions").glob("[a-z]*.py")]

PROCESSES = multiprocessing.get_context("forkserver")
# One server has all. What is not installed here, it leaves out.
PROCESSES.set_forkserver_preload(
    [
        *(f"mpu_cli.cli.actions.{name}" for name in _ACTIONS),
        "tests.warm",
        "mpu_cli.cluster.training",
        "distributed.cli.dask_scheduler",
        "distributed.cli.dask_worker",
        "pytest",
    ]
)
# What a shell runs as `mpu`: it hands its arguments, place, environment and streams to `_serve`, which gives a status.
_CLIENT = """
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect(sys.argv[1])
    request = json.dumps([sys.argv[2:], os.getcwd(), dict(os.environ)])
    socket.send_fds(server, [request.encode()], [0, 1, 2])
    sys.exit(int(server.recv(10)))
"""


class _Stream:
    """A file descriptor that a process gets under another number."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __reduce__(self):
        return methodcaller("detach"), (DupFd(self._number),)


def start(
    program: Callable[[], object],
    arguments: Sequence[str],
    streams: Sequence[int],
    folder: str = ".",
    environment: Mapping[str, str] = os.environ,
    daemon: bool = False,
) -> BaseProcess:
    """Start a program, a function of a module, with file descriptors for standard input, output and error.

    `daemon`: whether it ends with the process that started it.
    """
    what = program, list(arguments), [_Stream(stream) for stream in streams], folder, dict(environment)
    process = PROCESSES.Process(target=_run, args=what, daemon=daemon)
    process.start()
    return process


def mpu() -> None:
    """Run `mpu` with the arguments of the process."""
    commands.mpu(prog_name="mpu")


def _run(
    program: Callable[[], object], arguments: list[str], streams: list[int], folder: str, environment: dict[str, str]
) -> None:
    if multiprocessing.current_process().daemon:
        threading.Thread(target=_end_with_parent, daemon=True).start()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    # `multiprocessing` has closed what was there; `__stdin__` keeps it open where `mpu` puts another in its place
    sys.stdin = sys.__stdin__ = os.fdopen(0)
    sys.argv[1:] = arguments
    try:
        program()
    finally:
        threading._shutdown()  # as a program does, which ends joblib's processes: `multiprocessing` would wait for them


def _end_with_parent() -> None:
    multiprocessing.parent_process().join()
    os._exit(1)


@contextmanager
def shell_program() -> Iterator[str]:
    """Give the text of a program `mpu` for shells, which works as long as this context."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "client.py").write_text(_CLIENT)
        with socket.create_server(f"{folder}/socket", family=socket.AF_UNIX) as listener:
            threading.Thread(target=_serve, args=(listener,), daemon=True).start()
            yield f'#!/bin/sh\nexec "{sys.executable}" -IS {folder}/client.py {folder}/socket "$@"\n'


def _serve(listener: socket.socket) -> None:
    with suppress(OSError):  # it was closed
        while True:
            threading.Thread(target=_answer, args=(listener.accept()[0],), daemon=True).start()


def _answer(connection: socket.socket) -> None:
    with connection:
        request, streams, *_ = socket.recv_fds(connection, 1 << 20, 3)
        arguments, folder, environment = json.loads(request)
        try:
            process = start(mpu, arguments, streams, folder, environment)
        finally:
            for stream in streams:
                os.close(stream)
        process.join()
        status = process.exitcode if process.exitcode >= 0 else 128 - process.exitcode
        connection.send(str(status).encode())
