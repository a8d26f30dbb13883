"""A small HTTP service that predicts labels.

It needs the extra `serve`: pip install '.[fast,serve]'

    python examples/service.py news.mpu --port 8000
    curl localhost:8000/health
    curl localhost:8000/predict -d '{"texts": ["Digital television starts today"]}'
    curl localhost:8000/predict -d '{"instances": [{"1": 0.5, "7": 1}], "top": 5}'

The model is read once, and again when its directory has been replaced: a request is answered by one model, the old one
or the new one. A new model that cannot be read leaves the old one in use, and /health says so. Texts are for models of
data that `mpu vectorize` made. There is no encryption and no password: put it behind a server that has them.
"""

import argparse
import json
import math
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn
from scipy.sparse import csr_array
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from mpu_cli import MPUClassifier, MpuError, bundle, load
from mpu_cli.text.directory import from_one
from mpu_cli.text.packed import unpacked
from mpu_cli.text.vectorizer import Vectorizer

MOST_BYTES = 1 << 20
MOST_INSTANCES = 1000
MOST_LABELS = 100
USUAL_LABELS = 20


@dataclass(frozen=True)
class Loaded:
    """A model in memory.

    Attributes
    ----------
    version : tuple of int
        The state of the file whose replacement makes it a new model.
    classifier : MPUClassifier
    vectorizer : Vectorizer or None
        What makes vectors of texts, where the model keeps it.
    """

    version: tuple[int, ...]
    classifier: MPUClassifier
    vectorizer: Vectorizer | None

    @classmethod
    def read(cls, path: Path) -> "Loaded":
        """Read a model; once more if it has been replaced meanwhile."""
        while True:
            version = version_of(path)
            packed = bundle.load(path).vectorizer
            vectorizer = None if packed is None else Vectorizer.of(unpacked(packed, str(path)))
            classifier = load(path)
            if version_of(path) == version:
                return cls(version, classifier, vectorizer)

    def vectors(self, asked: dict[str, Any]) -> csr_array:
        """Return the features of what is asked; ValueError where that makes no sense."""
        width = self.classifier.n_features_in_
        if "texts" in asked:
            texts = asked["texts"]
            if self.vectorizer is None:
                raise ValueError("the model knows no vectoriser; send instances")
            if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
                raise ValueError("texts: give a list of texts")
            if not texts:
                return csr_array((0, width), dtype=np.float32)
            found = from_one(self.vectorizer.transform(texts))
        else:
            found = _vectors(asked.get("instances"))
        found.resize((found.shape[0], width))  # features beyond were not there in training
        return found

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Predict; ValueError where what is asked makes no sense."""
        most = asked.get("top", USUAL_LABELS)
        if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= MOST_LABELS:
            raise ValueError(f"top: give a whole number from 1 to {MOST_LABELS}")
        features = self.vectors(asked)
        if features.shape[0] > MOST_INSTANCES:
            raise HTTPException(413, f"at most {MOST_INSTANCES} instances at a time")
        if not features.shape[0]:
            return {"predictions": []}
        names, thresholds = self.classifier.classes_, self.classifier.thresholds_
        found = csr_array(self.classifier.predict_top(features, min(most, len(names))))
        predictions = []
        for start, stop in zip(found.indptr[:-1], found.indptr[1:], strict=True):
            order = start + np.argsort(-found.data[start:stop], kind="stable")
            columns, scores = found.indices[order], found.data[order]
            predictions.append(
                {
                    "labels": [str(name) for name in names[columns[scores >= thresholds[columns]]]],
                    "scores": {str(names[k]): round(float(score), 6) for k, score in zip(columns, scores, strict=True)},
                }
            )
        return {"predictions": predictions}


def _vectors(instances: Any) -> csr_array:
    if not isinstance(instances, list) or not all(isinstance(instance, dict) for instance in instances):
        raise ValueError('give {"texts": [...]}, or {"instances": [{"index": value, ...}, ...]}')
    rows, columns, values = [], [], []
    for row, instance in enumerate(instances):
        for index, value in instance.items():
            if not (index.isdecimal() and index.isascii() and len(index) < 10):
                raise ValueError(f"instance {row + 1}: {index!r} is no index")
            if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e30:
                raise ValueError(f"instance {row + 1}: the value of {index} is no number")
            rows.append(row)
            columns.append(int(index))
            values.append(float(value))
    shape = len(instances), max(columns, default=0) + 1
    return csr_array((np.array(values, np.float32), (rows, columns)), shape=shape)


def version_of(path: Path) -> tuple[int, ...]:
    """Return what changes when a model is replaced: its manifest is put in place last."""
    state = (path / "manifest.json").stat()
    return state.st_dev, state.st_ino, state.st_mtime_ns, state.st_size


class Model:
    """The model in use, read anew when its directory has been replaced.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.current = Loaded.read(path)
        self.problem: str | None = None
        self._reading = threading.Lock()

    def get(self) -> Loaded:
        """Return the model. One request reads a new one; the others are answered by the old one meanwhile."""
        if self._is_new() and self._reading.acquire(blocking=False):
            try:
                if self._is_new():
                    self.current = Loaded.read(self.path)
                self.problem = None
            except (MpuError, OSError) as error:
                self.problem = str(error)
            finally:
                self._reading.release()
        return self.current

    def _is_new(self) -> bool:
        try:
            return version_of(self.path) != self.current.version
        except OSError as error:
            self.problem = str(error)
            return False


async def body(request: Request) -> dict[str, Any]:
    """Return the object that a request has, of bounded size."""
    received = bytearray()
    async for part in request.stream():
        received += part
        if len(received) > MOST_BYTES:
            raise HTTPException(413, f"at most {MOST_BYTES} bytes")
    try:
        asked = json.loads(received, parse_constant=lambda name: math.inf)
    except (ValueError, RecursionError):
        raise HTTPException(400, "the body is no JSON") from None
    if not isinstance(asked, dict):
        raise HTTPException(400, "the body is no JSON object")
    return asked


def application(path: Path) -> Starlette:
    """Make the service of a model."""
    model = Model(path)

    async def health(_request: Request) -> JSONResponse:
        loaded = await run_in_threadpool(model.get)
        state = {"status": "ok" if model.problem is None else "old model", "problem": model.problem}
        return JSONResponse(state | {"model": str(path), "labels": len(loaded.classifier.classes_)})

    async def predict(request: Request) -> JSONResponse:
        asked = await body(request)

        def answer() -> dict[str, Any]:
            return model.get().answer(asked)

        try:
            return JSONResponse(await run_in_threadpool(answer))
        except (ValueError, MpuError) as error:
            raise HTTPException(400, str(error)) from None

    async def refused(_request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        return JSONResponse({"error": error.detail}, error.status_code)

    async def gone(_request: Request, _error: Exception) -> Response:
        return Response(status_code=400)  # which nobody receives

    routes = [Route("/health", health), Route("/predict", predict, methods=["POST"])]
    return Starlette(routes=routes, exception_handlers={HTTPException: refused, ClientDisconnect: gone})


def main() -> None:
    """Serve until a signal comes."""
    parser = argparse.ArgumentParser(description="Predict labels over HTTP.")
    parser.add_argument("model", type=Path, help="directory of the model")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    given = parser.parse_args()
    try:
        app = application(given.model)
    except (MpuError, OSError) as error:
        parser.error(str(error))
    uvicorn.run(app, host=given.host, port=given.port, log_level="warning")


if __name__ == "__main__":
    main()
