"""Fixtures: the scripts in data/ as modules, and an HTTP server that can misbehave."""

import importlib
from collections import deque
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import ModuleType

import pytest

DATA = Path(__file__).parents[2] / "data"


@pytest.fixture
def script(monkeypatch):
    """Import a script of data/ by name, as Python sees it when it is run from there."""
    monkeypatch.syspath_prepend(DATA)

    def load(name: str) -> ModuleType:
        return importlib.import_module(name)

    return load


class Handler(BaseHTTPRequestHandler):
    """One file, byte ranges, and the faults that the test asks for."""

    def do_GET(self):
        self.server.requests.append(self.headers)
        fault = self.server.faults.popleft() if self.server.faults else None
        if isinstance(fault, int):
            # Pythons differ in the words for it
            self.send_error(fault, "Requested Range Not Satisfiable" if fault == 416 else None)
            return
        content = self.server.content
        start = self.first_byte()
        if start > len(content) - 1:
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(content)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = content[start:]
        self.send_response(206 if start else 200)
        if start:
            claimed = start + 1 if fault == "wrong range" else start
            self.send_header("Content-Range", f"bytes {claimed}-{len(content) - 1}/{len(content)}")
        for name, value in self.server.version.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if fault == "cut" else body)
        if fault == "cut":
            self.server.on_cut()

    def first_byte(self) -> int:
        """Where the answer starts: at 0 unless a range is asked for and the version is still the same."""
        wanted = self.headers.get("Range")
        same = self.headers.get("If-Range") in self.server.version.values()
        if wanted is None or not self.server.ranges or not (same or self.server.ignores_if_range):
            return 0
        return int(wanted.removeprefix("bytes=").removesuffix("-"))

    def log_message(self, *args):
        """Keep the output of the tests clean."""


class Server(ThreadingHTTPServer):
    """Serves `content` under every path; attributes say what goes wrong."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/"
        self.content = b""
        self.version = {"ETag": '"first"'}
        self.ranges = True
        self.ignores_if_range = False
        self.faults = deque()  # one a request: a status, "cut" or "wrong range"
        self.on_cut = lambda: None
        self.requests = []  # the headers of each


@pytest.fixture
def server(monkeypatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with Server() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()
