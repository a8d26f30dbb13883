"""What is counted, timed and logged of requests."""

import logging
import time
from collections.abc import Callable
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mpu_cli.serve.model import Answer, Current

_log = logging.getLogger(__name__)

_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


class Metrics:
    """The numbers of a service, for Prometheus."""

    def __init__(self, current: Current) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)

        def make(kind: Callable[..., Any], name: str, text: str, labels: tuple[str, ...] = (), **more: Any) -> Any:
            return kind(f"mpu_{name}", text, labels, registry=self._registry, **more)

        self._requests = make(Counter, "requests", "Requests that were answered.", ("path", "status"))
        self._seconds = make(Histogram, "request_seconds", "Time to the answer.", ("path",), buckets=_SECONDS)
        self._counted = [
            make(Counter, name, text)
            for name, text in (
                ("instances", "Texts and instances that were predicted."),
                ("features", "Features of these."),
                ("unknown_features", "Those that did not occur in training, and are ignored."),
                ("warnings", "Answers that warn of texts in languages that the model has not seen."),
            )
        ]
        self._reloads = make(Counter, "reloads", "Models that were read in place of another.", ("result",))
        for result in ("done", "failed"):
            self._reloads.labels(result)
        in_place = make(Gauge, "model_in_place", "1 if the model in use is the one that is there now.")
        in_place.set_function(lambda: current.problem is None)

    def text(self) -> bytes:
        """Return all of them."""
        return generate_latest(self._registry)

    def reloaded(self, done: bool) -> None:
        """Count a model that was read, or could not be."""
        self._reloads.labels("done" if done else "failed").inc()

    def count(self, answer: Answer) -> None:
        """Count an answer."""
        fitness = answer.fitness
        counts = answer.instances, fitness.entries, fitness.unknown, int(answer.warning is not None)
        for counter, count in zip(self._counted, counts, strict=True):
            counter.inc(count)

    def finished(self, scope: Scope, status: int, seconds: float) -> None:
        """Count and log a request."""
        route = getattr(scope.get("route"), "path", "other")  # what strangers ask for is no path of ours
        self._requests.labels(route, status).inc()
        self._seconds.labels(route).observe(seconds)
        who = (scope.get("client") or ("-",))[0]
        values = {"client": who, "method": scope["method"], "path": scope["path"], "status": status}
        line = f"{who} {scope['method']} {scope['path']} {status} {1000 * seconds:.1f} ms"
        _log.info("%s", line, extra={"counts": values | {"seconds": round(seconds, 6)}})


class Observed:
    """An application, all of whose requests are counted."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, start = 500, time.perf_counter()

        async def sending(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._app(scope, receive, sending)
        finally:
            self._metrics.finished(scope, status, time.perf_counter() - start)
