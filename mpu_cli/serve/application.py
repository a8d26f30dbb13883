"""The paths of the service."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from mpu_cli.errors import MpuError
from mpu_cli.names.label_names import quoted
from mpu_cli.runtime.parallel import threads
from mpu_cli.serve import Limits
from mpu_cli.serve.asked import Asked, from_form, from_json
from mpu_cli.serve.metrics import Metrics, Observed
from mpu_cli.serve.model import Answer, Current

_SECONDS_BETWEEN_LOOKS = 0.5
_LEFT = 499  # as nginx has it: nobody receives it


class Service:
    """Answers requests."""

    def __init__(self, current: Current, limits: Limits) -> None:
        self._current, self._limits = current, limits
        self._metrics = Metrics(current)
        # As many predictions at a time as there are threads; the other requests wait.
        self._pool = ThreadPoolExecutor(threads(current.run.jobs))

    def application(self) -> Starlette:
        """Return the application."""
        routes = [
            Route("/health", self._health),
            Route("/metrics", self._show_metrics),
            Route("/predict", self._predict, methods=["POST"]),
            Route("/v1/projects/{project}", self._project),
            Route("/v1/projects/{project}/suggest", self._suggest, methods=["POST"]),
        ]
        handlers: dict[Any, Callable[..., Any]] = dict.fromkeys(
            (HTTPException, MpuError, ClientDisconnect, Exception), _refused
        )
        watched = [Middleware(Observed, self._metrics)]
        return Starlette(routes=routes, middleware=watched, exception_handlers=handlers, lifespan=self._living)

    @asynccontextmanager
    async def _living(self, _app: Starlette) -> AsyncIterator[None]:
        async def watch() -> None:
            while True:
                if (done := await asyncio.to_thread(self._current.refresh)) is not None:
                    self._metrics.reloaded(done)
                await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)

        watching = asyncio.create_task(watch())
        with self._pool:
            yield
        watching.cancel()

    async def _health(self, _request: Request) -> JSONResponse:
        current, problem = self._current, self._current.problem
        state = {"status": "ok" if problem is None else "old model", "problem": problem, "model": str(current.path)}
        loaded = current.loaded
        about = {"version": loaded.version, "number": loaded.number, "labels": len(loaded.labels)}
        return JSONResponse(state | about, 200 if problem is None else 503)

    async def _show_metrics(self, _request: Request) -> Response:
        return Response(self._metrics.text(), media_type="text/plain; version=0.0.4")

    async def _predict(self, request: Request) -> JSONResponse:
        return await self._answer(request, from_json, Answer.as_json)

    async def _suggest(self, request: Request) -> JSONResponse:
        self._refuse_other_project(request)
        if not self._current.loaded.has_uris:
            raise HTTPException(400, "the labels have no URIs, and Annif knows labels by these alone")
        return await self._answer(request, from_form, Answer.as_suggestions)

    async def _project(self, request: Request) -> JSONResponse:
        self._refuse_other_project(request)
        loaded = self._current.loaded
        about = {
            "project_id": self._current.path.stem,
            "name": str(self._current.path),
            "backend": {"backend_id": "mpu"},
            "is_trained": True,
            "modification_time": datetime.fromtimestamp(loaded.since, UTC).isoformat(),
        }
        return JSONResponse(about | {"version": loaded.version})

    def _refuse_other_project(self, request: Request) -> None:
        name, ours = request.path_params["project"], self._current.path.stem
        if name != ours:
            raise HTTPException(404, f"there is no project {quoted(name)}; this is {quoted(ours)}")

    async def _answer(
        self, request: Request, read: Callable[[bytes, Limits], Asked], write: Callable[[Answer], dict[str, Any]]
    ) -> JSONResponse:
        received = await self._body(request)

        def work() -> Response:
            answer = self._current.loaded.answer(read(received, self._limits), self._current.run)
            self._metrics.count(answer)
            return JSONResponse(write(answer))

        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    async def _body(self, request: Request) -> bytes:
        received = bytearray()
        async for part in request.stream():
            received += part
            if len(received) > self._limits.max_bytes:
                raise HTTPException(413, f"the body is too long: give at most {self._limits.max_bytes:,} bytes")
        return bytes(received)


async def _refused(_request: Request, error: Exception) -> Response:
    headers = None
    match error:
        case ClientDisconnect():
            return Response(status_code=_LEFT)
        case HTTPException():
            status, message, headers = error.status_code, error.detail, error.headers
        case MpuError():
            status, message = 400, str(error)
        case _:  # which the server logs
            status, message = 500, "this service has failed; its log says how"
    return JSONResponse({"error": message}, status, headers)
