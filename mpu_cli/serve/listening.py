"""Where the service listens, and how it ends."""

import resource
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from mpu_cli.errors import MpuError
from mpu_cli.runtime import signals
from mpu_cli.runtime.parallel import blas_on_one_thread

# For requests that are under way when the process is asked to end.
_SECONDS_TO_FINISH = 10


# A connection on which no request has begun for this long, or twice as long, is closed.
_SECONDS_TO_ASK = 20.0
_MOST_CONNECTIONS = 1000
_ACCEPTED_AT_ONCE = 64


def _most_connections() -> int:
    """Return how many connections may be open, so that files for everything else are left."""
    return min(_MOST_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 3)


class _Connection(H11Protocol):
    """A connection that is closed where no request comes, and at once where there are too many."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._watching = self.loop.call_later(_SECONDS_TO_ASK, self._close_idle)
        if len(self.connections) > _most_connections():
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._watching.cancel()
        super().connection_lost(exc)

    def _close_idle(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
        else:
            self._watching = self.loop.call_later(_SECONDS_TO_ASK, self._close_idle)


def server_of(app: Starlette) -> uvicorn.Server:
    """Create the server of an application. Its messages go to the logger `uvicorn`."""
    config = uvicorn.Config(
        app,
        http=_Connection,
        # asyncio accepts as many connections before it looks at the first of them
        backlog=max(1, min(_ACCEPTED_AT_ONCE, _most_connections() // 8)),
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
    """Listen at an address of this machine; port 0 is any that is free; ``::`` is all of IPv6 and IPv4.

    Raises MpuError (it is not possible).
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        both = host == "::" and socket.has_dualstack_ipv6()
        listening = socket.create_server((host, port), family=family, dualstack_ipv6=both)
    except (OSError, UnicodeError) as error:
        # The rest says the address again; of a name that cannot be one, Pythons say different things.
        reason = str(getattr(error, "strerror", "this is not a host name")).partition(" (")[0]
        raise MpuError(f"cannot listen at {host}, port {port}: {reason}; give another --host or --port") from error
    with listening:
        # Connections inherit it. asyncio does that only where a socket names its protocol, and the body of an answer
        # would wait 40 ms for its head to be acknowledged.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield listening
