"""Where the service listens, and how it ends."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from mpu_cli.errors import MpuError
from mpu_cli.runtime import signals
from mpu_cli.runtime.parallel import blas_on_one_thread

# For requests that are under way when the process is asked to end.
_SECONDS_TO_FINISH = 10


def server_of(app: Starlette) -> uvicorn.Server:
    """Make the server of an application. Its messages go to the logger `uvicorn`."""
    config = uvicorn.Config(
        app,
        access_log=False,
        log_config=None,
        log_level="error",  # what a client sends wrong is not a fault of the service
        server_header=False,
        timeout_graceful_shutdown=_SECONDS_TO_FINISH,
    )
    return uvicorn.Server(config)


def serve(app: Starlette, listening: socket.socket) -> None:
    """Answer requests until a signal comes; then finish those that are under way."""
    server = server_of(app)

    def end() -> None:
        server.should_exit = True

    with blas_on_one_thread(), signals.asked_to_end(end):
        server.run(sockets=[listening])


@contextmanager
def at_port(host: str, port: int) -> Iterator[socket.socket]:
    """Listen at an address of this machine; port 0 is any that is free. MpuError where that is not possible."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        reason = str(error.strerror).partition(" (")[0]  # the rest says the address again
        raise MpuError(f"cannot listen at {host}, port {port}: {reason}; give another --port") from error
    with listening:
        # Connections inherit it. asyncio does that only where a socket names its protocol, and the body of an answer
        # would wait 40 ms for its head to be acknowledged.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield listening


@contextmanager
def at_socket(path: Path) -> Iterator[socket.socket]:
    """Listen at a socket file, which all may write to: who may reach it is said by its directory.

    Raises MpuError (another process listens there, or there is a file that is no socket).
    """
    with socket.socket(socket.AF_UNIX) as probe, socket.socket(socket.AF_UNIX) as listening:
        try:
            if path.is_socket():
                if probe.connect_ex(str(path)) == 0:
                    raise MpuError(f"{path}: another process listens there")
                path.unlink()  # of a process that was killed
            elif path.exists():
                raise MpuError(f"{path}: is no socket, and is not replaced; give another --socket")
            listening.bind(str(path))
        except OSError as error:
            raise MpuError(f"{path}: cannot listen there: {error.strerror or error}") from error
        with signals.finally_call(lambda: path.unlink(missing_ok=True)), suppress(FileNotFoundError):
            path.chmod(0o666)
            listening.listen()
            yield listening
