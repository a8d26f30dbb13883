"""Answer HTTP requests with a model that is read again after it has been replaced: ``mpu serve`` (extra ``serve``)."""

import asyncio
import logging
import resource
import socket
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import uvicorn
from scipy.sparse import csr_array
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from mpu_cli import bundle
from mpu_cli.bundle import MANIFEST, TrainedModel
from mpu_cli.bundle.predicting import Fitness, implications_of, reaching, select, with_implied
from mpu_cli.cli.messages import info, show_times
from mpu_cli.errors import DataError, MpuError
from mpu_cli.names.label_names import quoted
from mpu_cli.names.lines import is_utf8, whole
from mpu_cli.runtime import signals
from mpu_cli.runtime.files import State, json_value, state_of
from mpu_cli.runtime.options import Integer
from mpu_cli.runtime.run import Run, blas_on_one_thread
from mpu_cli.svmlight.grammar import FLOAT32_OVERFLOW, MAX_ID
from mpu_cli.text.analyzer import languages_of, strangers
from mpu_cli.text.stored import from_one, unpacked
from mpu_cli.text.vectorizer import Vectorizer

_log = logging.getLogger(__name__)

_States = dict[Path, State | None]  # for each file; None if it does not exist


@dataclass(frozen=True)
class Asked:
    """A request."""

    # list of str, or csr_array of float32, shape (n, any): texts, or the features of instances
    data: list[str] | csr_array
    top: int  # number of scores requested for each
    fill_implied: bool | None = None  # whether to add the implied labels of an instance; None: the service's default
    is_for_annif: bool = False


@dataclass(frozen=True)
class Loaded:
    """A model in memory."""

    run: Run
    fill_implied: bool  # whether broader labels are filled in, unless a request sets it
    model: TrainedModel
    vectorizer: Vectorizer | None  # converts texts to vectors; None if the model does not contain one
    state: _States  # of the manifest and the files that it names

    @classmethod
    def read(cls, path: Path, run: Run, fill_implied: bool) -> "Loaded":
        """Read a model; MpuError as for `bundle.load` and `answer`."""
        manifest = path / MANIFEST
        state = {manifest: state_of(manifest)}  # from before it is read: if it is replaced meanwhile, it is read again
        model = bundle.load(path)
        state |= {path / name: state_of(path / name) for name in model.files}
        packed = model.packed_vectorizer
        vectorizer = None if packed is None else Vectorizer.of(unpacked(packed, str(path)))
        loaded = cls(run, fill_implied, model, vectorizer, state)
        # The first prediction loads the names and compiles the kernels; no request should wait for that.
        loaded.answer(Asked(csr_array((1, 1), dtype=np.float32), 1))
        return loaded

    @cached_property
    def labels(self) -> list[str]:
        """The name of each column, or else its number."""
        return [str(label) for label in self.model.shown_labels().tolist()]

    @cached_property
    def uris(self) -> list[str | None]:
        """The URI of each column, None if absent; an empty list if no label has one."""
        names = self.model.names
        return list(map(names.uri, self.model.label_ids.tolist())) if names.has_uris else []

    def answer(self, asked: Asked) -> dict[str, Any]:
        """Predict; return the labels and scores of each instance by name, or the suggestions for one text for Annif.

        Raises MpuError (the model does not accept texts, or has no rules for implied labels; or features are too large
        for 32-bit numbers).
        """
        is_filled = self.fill_implied if asked.fill_implied is None else asked.fill_implied
        implies = implications_of(self.model) if is_filled else None
        features = asked.data
        if not isinstance(features, csr_array):
            if self.vectorizer is None:
                raise DataError("the model has no vectoriser; send instances")
            features = from_one(self.vectorizer.transform(features))
        fitness = Fitness.of(self.model, features)
        about: dict[str, Any] = {"version": self.model.version, "unknown_features": fitness.unknown}
        if warnings := self._warnings(asked.data, features):
            about["warnings"] = warnings
        thresholds = self.model.predictor.thresholds
        predictions = reaching(self.model.predictor, features, thresholds, self.run, most=asked.top)
        decided = select(predictions, thresholds, None, ranked=True)
        top = select(predictions, np.zeros_like(thresholds), asked.top, ranked=True)
        if implies is not None:
            decided, top = (with_implied(cells, implies, None, ranked=True) for cells in (decided, top))
            top = top[np.arange(len(top)) - np.searchsorted(top.rows, top.rows) < asked.top]
        scores = zip(top.rows.tolist(), top.columns.tolist(), top.probabilities.tolist(), strict=True)
        if asked.is_for_annif:  # Annif identifies labels only by URI
            return about | {
                "results": [
                    {"uri": self.uris[column], "label": self.labels[column], "score": round(score, 6)}
                    for _, column, score in scores
                    if self.uris[column]
                ]
            }
        found: list[dict[str, Any]] = [
            {"labels": [], **({"uris": []} if self.uris else {}), "scores": {}} for _ in range(features.shape[0])
        ]
        for row, column in zip(decided.rows.tolist(), decided.columns.tolist(), strict=True):
            found[row]["labels"].append(self.labels[column])
            if self.uris:
                found[row]["uris"].append(self.uris[column])
        for row, column, score in scores:
            found[row]["scores"][self.labels[column]] = round(score, 6)
        return about | {"features": fitness.entries, "predictions": found}

    def _warnings(self, data: list[str] | csr_array, features: csr_array) -> list[str]:
        """Return warnings for texts in languages new to the model, or without any word known to the model."""
        if self.vectorizer is None or isinstance(data, csr_array):
            return []
        foreign = strangers(languages_of(data), self.vectorizer.options_.languages)
        empty = np.flatnonzero(self.model.occurring.counts(features) == 0)
        wordless = [f"text {row + 1} has no word that the model knows" for row in empty]
        return [*([] if foreign is None else [foreign]), *wordless]


# Key in a request's scope for the reason of a refusal.
_REASON = "mpu.reason"


def observed(app: ASGIApp, hosts: Collection[str] | None) -> ASGIApp:
    """Wrap an application: log all requests, and answer only those to the allowed host names of this machine.

    Otherwise a foreign web page whose host name resolves to this machine could read answers (DNS rebinding).

    `hosts`: the allowed names; None: any.
    """

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        status, start = 500, time.perf_counter()

        async def sending(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        answering, host = app, None
        with suppress(ValueError):
            host = Request(scope).url.hostname
        if hosts is not None and host not in hosts:
            known = ", ".join(sorted(hosts))
            scope[_REASON] = (
                f"this service does not answer to this host name, but to {known}, and by each --allowed-host"
            )
            answering = JSONResponse({"error": scope[_REASON]}, 421)
        try:
            await answering(scope, receive, sending)
        finally:
            seconds, reason = time.perf_counter() - start, scope.get(_REASON)
            who = (scope.get("client") or ("-",))[0]
            values = {"client": who, "method": scope["method"], "path": scope["path"], "status": status}
            line = f"{' '.join(map(str, values.values()))} {1000 * seconds:.1f} ms {reason or ''}".rstrip()
            counts = values | ({} if reason is None else {"reason": reason}) | {"seconds": round(seconds, 6)}
            _log.info("%s", line, extra={"counts": counts})

    return answer


_USUAL_TOP, _MOST_TOP = 20, 100  # scores for each instance
_MOST_INSTANCES = 1000  # in a request
_FIELDS = ("texts", "instances", "top", "fill_implied")
# Fields of Annif's http backend, besides all fields that begin with `metadata_`.
_ANNIF_FIELDS = ("text", "limit", "project")
_ANNIF_LIMIT = "10"


def from_json(body: bytes) -> Asked:
    """Read ``{"texts": [...]}`` or ``{"instances": [{"index": value, ...}, ...]}``, perhaps with more fields.

    Raises HTTPException (the request is invalid (400), or has too many instances (413)).
    """
    values = _read(lambda: json_value(body, strict=True), "the body")
    if not isinstance(values, dict):
        raise HTTPException(400, "the body is not a JSON object")
    _refuse_unknown(values, _FIELDS)
    if ("texts" in values) == ("instances" in values):
        raise HTTPException(400, 'give {"texts": [...]} or {"instances": [{"index": value, ...}, ...]}')
    name = "texts" if "texts" in values else "instances"
    items, kind = values[name], str if name == "texts" else dict
    if not isinstance(items, list) or not all(isinstance(one, kind) for one in items):
        raise HTTPException(400, f"{name}: give a list of {'texts' if kind is str else 'objects'}")
    if len(items) > _MOST_INSTANCES:
        raise HTTPException(413, f"{len(items):,} {name}: give at most {_MOST_INSTANCES:,} at a time")
    wanted = values.get("top", _USUAL_TOP)
    top = _read(lambda: Integer(1, _MOST_TOP).check(wanted), "top")
    fill = values.get("fill_implied")
    if not isinstance(fill, bool | None):
        raise HTTPException(400, "fill_implied: give true or false")
    return Asked(_texts(items) if kind is str else _features(items), top, fill)


def from_form(body: bytes) -> Asked:
    """Read the form that Annif's http backend sends: ``text=...&limit=10``; HTTPException as for `from_json`."""
    pairs = _read(lambda: parse_qsl(body.decode(), keep_blank_values=True, errors="strict"), "the form")
    values = dict(pairs)
    if len(values) < len(pairs) or "text" not in values:
        form = "a form (application/x-www-form-urlencoded)"
        raise HTTPException(400, f"give {form} with one field text, and perhaps one field limit")
    _refuse_unknown([name for name in values if not name.startswith("metadata_")], _ANNIF_FIELDS)
    top = _read(lambda: Integer(1, _MOST_TOP).parse(values.get("limit", _ANNIF_LIMIT)), "limit")
    return Asked(_texts([values["text"]]), top, is_for_annif=True)


def _read(read: Callable[[], Any], name: str) -> Any:
    try:
        return read()
    except ValueError as error:
        raise HTTPException(400, f"{name}: {error}") from None


def _refuse_unknown(names: Collection[str], fields: tuple[str, ...]) -> None:
    if unknown := [name for name in names if name not in fields]:
        raise HTTPException(400, f"{quoted(unknown[0])} is not a field of a request; fields are {', '.join(fields)}")


def _texts(texts: list[str]) -> list[str]:
    for number, text in enumerate(texts, 1):
        if not is_utf8(text):
            raise HTTPException(400, f"text {number} contains half of a surrogate pair (\\ud800 to \\udfff)")
    return texts


def _features(instances: list[dict[str, Any]]) -> csr_array:
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    for row, instance in enumerate(instances):
        numbered = [(whole(index, MAX_ID), value) for index, value in instance.items()]
        entries = {index: value for index, value in numbered if index is not None}
        if len(entries) < len(instance):
            raise HTTPException(400, f"instance {row + 1}: give each index once, a whole number from 0 to {MAX_ID:,}")
        for index, value in entries.items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < FLOAT32_OVERFLOW:
                raise HTTPException(400, f"instance {row + 1}: the value of {index} is not a 32-bit number")
        rows += [row] * len(entries)
        columns += entries
        values += entries.values()
    shape = len(instances), max(columns, default=0) + 1
    return csr_array((np.array(values, np.float32), (rows, columns)), shape=shape)


_SECONDS_BETWEEN_LOOKS = 0.5
_LEFT = 499  # nginx's status for a client that has disconnected: nobody receives it
_CLOSE = {"connection": "close"}
_SECONDS_OF_BODY = 30.0
_MOST_BYTES_AT_A_TIME = 1 << 26  # of all request bodies being received; at least the largest body is allowed


class Service:
    """Answers requests by the model in use, `loaded`; `problem`: why the model now on disk is not in use.

    `max_bytes`: size of the largest body allowed.
    """

    def __init__(self, path: Path, run: Run, fill_implied: bool, max_bytes: int) -> None:
        self.loaded = Loaded.read(path, run, fill_implied)
        self.problem: str | None = None
        self._failed: _States | None = None
        self._path, self._max_bytes = path, max_bytes
        self._receiving = 0  # bytes
        # One prediction at a time in each thread; the other requests wait.
        self._pool = ThreadPoolExecutor(run.threads)

    def refresh(self) -> None:
        """Read the model if it has been replaced. The old one stays in use meanwhile, and if reading fails."""
        state = {file: state_of(file) for file in self.loaded.state}
        if state == self.loaded.state:
            self.problem = self._failed = None
            return
        if state == self._failed:
            return
        start = time.monotonic()
        try:
            self.loaded = Loaded.read(self._path, self.loaded.run, self.loaded.fill_implied)
        except Exception as error:  # whatever is wrong with a new model, the old one must answer
            self._failed, self.problem = state, str(error) or type(error).__name__
            _log.warning("%s; the previous model stays in use", self.problem)
            return
        self._failed = self.problem = None
        seconds = time.monotonic() - start
        _log.info("%s: version %s is in use, read in %.1f s", self._path, self.loaded.model.version, seconds)

    def application(self, hosts: Collection[str] | None) -> Starlette:
        """Return the application, which answers to these host names of this machine; None: any."""
        routes = [
            Route("/", self._paths),
            Route("/health", self._health),
            Route("/predict", self._predict, methods=["POST"]),
            Route("/v1/projects/{project}", self._project),
            Route("/v1/projects/{project}/suggest", self._suggest, methods=["POST"]),
        ]
        handlers: dict[Any, Callable[..., Any]] = dict.fromkeys(
            (HTTPException, MpuError, ClientDisconnect, Exception), _refused
        )
        watched = [Middleware(observed, hosts)]
        return Starlette(routes=routes, middleware=watched, exception_handlers=handlers, lifespan=self._living)

    @asynccontextmanager
    async def _living(self, _app: Starlette) -> AsyncIterator[None]:
        async def watch() -> None:
            while True:
                try:
                    await asyncio.to_thread(self.refresh)
                except RuntimeError as error:  # no thread can be started now
                    self.problem = f"the model cannot be checked: {error}"
                await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)

        asyncio.get_running_loop().set_exception_handler(_tell)
        watching = asyncio.create_task(watch())
        with self._pool:
            yield
        watching.cancel()

    async def _paths(self, _request: Request) -> JSONResponse:
        project = f"/v1/projects/{self._path.stem}"
        paths = {
            "POST /predict": 'labels of {"texts": ["..."]} or {"instances": [{"1": 0.5, "7": 1}]}',
            "GET /health": "the model in use, and whether it is the one on disk",
            f"GET {project}": "the model, for Annif",
            f"POST {project}/suggest": "labels of a text, for Annif",
        }
        return JSONResponse({"model": str(self._path), "version": self.loaded.model.version, "paths": paths})

    async def _health(self, _request: Request) -> JSONResponse:
        problem, loaded = self.problem, self.loaded
        state = {"status": "ok" if problem is None else "old model", "problem": problem, "model": str(self._path)}
        about = {"version": loaded.model.version, "labels": len(loaded.labels)}
        return JSONResponse(state | about, 200 if problem is None else 503)

    async def _predict(self, request: Request) -> Response:
        return await self._answer(request, from_json)

    async def _suggest(self, request: Request) -> Response:
        self._refuse_other_project(request)
        if not self.loaded.uris:
            raise HTTPException(400, "the labels have no URIs, which Annif needs")
        return await self._answer(request, from_form)

    async def _project(self, request: Request) -> JSONResponse:
        self._refuse_other_project(request)
        loaded = self.loaded
        _, nanoseconds = next(iter(loaded.state.values())) or (0, 0)  # when the manifest was written
        about = {
            "project_id": self._path.stem,
            "name": str(self._path),
            "backend": {"backend_id": "mpu"},
            "is_trained": True,
            "modification_time": datetime.fromtimestamp(nanoseconds / 1e9, UTC).isoformat(),
        }
        return JSONResponse(about | {"version": loaded.model.version})

    def _refuse_other_project(self, request: Request) -> None:
        name, ours = request.path_params["project"], self._path.stem
        if name != ours:
            raise HTTPException(404, f"there is no project {quoted(name)}; this is {quoted(ours)}")

    async def _answer(self, request: Request, read: Callable[[bytes], Asked]) -> Response:
        try:
            received = await self._body(request)

            def work() -> Response:
                return JSONResponse(self.loaded.answer(read(received)))

            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        except asyncio.CancelledError:  # by the server, when it shuts down
            raise HTTPException(503, "the service ends", _CLOSE) from None

    async def _body(self, request: Request) -> bytes:
        received = bytearray()
        self._refuse_longer(int(request.headers.get("content-length", 0)))
        try:
            async with asyncio.timeout(_SECONDS_OF_BODY):
                async for part in request.stream():
                    received += part
                    self._receiving += len(part)
                    self._refuse_longer(len(received))
                    if self._receiving > max(_MOST_BYTES_AT_A_TIME, self._max_bytes):
                        raise HTTPException(503, "too many requests at a time; try again", _CLOSE)
        except TimeoutError:
            message = f"the body was not received in {_SECONDS_OF_BODY:g} seconds"
            raise HTTPException(408, message, _CLOSE) from None
        finally:
            self._receiving -= len(received)
        return bytes(received)

    def _refuse_longer(self, n_bytes: int) -> None:
        if n_bytes > self._max_bytes:
            raise HTTPException(413, f"the body is too long: give at most {self._max_bytes:,} bytes")


def _tell(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log errors of asyncio: system errors, such as too many open files, in one line."""
    error = context.get("exception")
    if isinstance(error, OSError):
        _log.warning("%s: %s", context["message"], error)
    else:
        _log.error("%s", context["message"], exc_info=error)


async def _refused(request: Request, error: Exception) -> Response:
    headers = None
    match error:
        case ClientDisconnect():
            return Response(status_code=_LEFT)
        case HTTPException():
            status, message, headers = error.status_code, error.detail, error.headers
        case MpuError():
            status, message = 400, str(error)
        case _:  # the server logs it
            status, message = 500, "internal error; see the log of the service"
    request.scope[_REASON] = message
    return JSONResponse({"error": message}, status, headers)


# For requests in progress when the process is asked to end.
_SECONDS_TO_FINISH = 10
# A connection is closed if no request has begun on it for between one and two times this long.
_SECONDS_TO_ASK = 20.0
_MOST_CONNECTIONS = 1000
_ACCEPTED_AT_ONCE = 64


def _most_connections() -> int:
    """Return how many connections may be open, so that file descriptors remain for everything else."""
    return min(_MOST_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 3)


class _Connection(H11Protocol):
    """A connection that is closed if no request arrives, and immediately if there are too many connections."""

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
        # asyncio accepts this many connections before it looks at the first of them
        backlog=max(1, min(_ACCEPTED_AT_ONCE, _most_connections() // 8)),
        access_log=False,
        log_config=None,
        log_level="error",  # a client's invalid request is not an error of the service
        server_header=False,
        timeout_graceful_shutdown=_SECONDS_TO_FINISH,
    )
    return uvicorn.Server(config)


@contextmanager
def at_port(host: str, port: int) -> Iterator[socket.socket]:
    """Listen at an address of this machine; port 0: any free port; ``::``: all IPv6 and IPv4 addresses.

    Raises MpuError (the system cannot listen there).
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        both = host == "::" and socket.has_dualstack_ipv6()
        listening = socket.create_server((host, port), family=family, dualstack_ipv6=both)
    except (OSError, UnicodeError) as error:
        # The rest repeats the address; for an invalid name, the message depends on the Python version.
        reason = str(getattr(error, "strerror", "this is not a host name")).partition(" (")[0]
        raise MpuError(f"cannot listen at {host}, port {port}: {reason}; give another --host or --port") from error
    with listening:
        # Connections inherit it. asyncio sets it only if a socket names its protocol; without it, an answer's body
        # would wait 40 ms until its head is acknowledged.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield listening


def command(
    model: Path, host: str, port: int, allowed_host: tuple[str, ...], fill_implied: bool, max_bytes: int, run: Run
) -> None:
    """Answer requests until a signal arrives; then finish those in progress."""
    service = Service(model, run, fill_implied, max_bytes)
    with at_port(host, port) as listening:
        address, port, *_ = listening.getsockname()
        where = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        is_local = ip_address(address.partition("%")[0]).is_loopback
        hosts = {"localhost", "127.0.0.1", "::1", *map(str.lower, (host, *allowed_host))} if is_local else None
        server = server_of(service.application(hosts))

        def end() -> None:
            server.should_exit = True

        show_times()
        info(f"{model}: version {service.loaded.model.version} answers at {where}")
        with blas_on_one_thread(), signals.asked_to_end(end):
            server.run(sockets=[listening])
    info(f"{model}: ended")
