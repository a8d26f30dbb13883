"""A service in the process of the tests, asked over HTTP; models that it may serve."""

import http.client
import json
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

OPTIONS = ("--levels", 1, "--c", 0.9, "--cost", 30, "--epochs", 5, "-q")
ONE = "1 1:1\n2 2:1\n1,2 1:1 2:1\n" * 30
OTHER = "3 1:1\n4 2:1\n3,4 1:1 2:1\n" * 30
SUBJECTS = {"http://example.org/law": "Law", "http://example.org/sport": "Sport"}


class Asking:
    """Asks a service at a port."""

    def __init__(self, port: int) -> None:
        self.port = port

    def ask(self, path: str, body: bytes | dict | None = None) -> tuple[int, dict]:
        """Send a request, perhaps of JSON; give status and answer."""
        body = json.dumps(body).encode() if isinstance(body, dict) else body
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)) as connection:
            connection.request("GET" if body is None else "POST", path, body)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    def ok(self, path: str, body: bytes | dict | None = None) -> dict:
        """Send a request that has to succeed; give the answer."""
        status, found = self.ask(path, body)
        assert status == 200, found
        return found

    def until(self, path: str, status: int, **values: object) -> dict:
        """Ask until the answer has a status and some values; give it."""
        deadline = time.monotonic() + 60
        while True:
            found = self.ask(path)
            if found[0] == status and values.items() <= found[1].items():
                return found[1]
            assert time.monotonic() < deadline, found
            time.sleep(0.02)


@contextmanager
def serving(
    model: Path, fill_implied: bool = False, hosts: list[str] | None = None, max_bytes: int = 1 << 20
) -> Iterator[Asking]:
    """Serve a model from a thread."""
    from mpu_cli.cli.actions.serve import Service, at_port, server_of
    from mpu_cli.runtime.run import Run

    service = Service(model, Run(jobs=2), fill_implied, max_bytes)
    with at_port("127.0.0.1", 0) as listening:
        server = server_of(service.application(hosts))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield Asking(listening.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join()


def trained(run, folder: Path) -> None:
    """Two models with other labels, one of texts, and one of texts with a thesaurus."""
    rows = {"text": "a match", "tags": ["Sport"]}, {"text": "a law", "tags": ["Law"]}
    lines = "".join(json.dumps({"id": str(i), **rows[i % 2]}) + "\n" for i in range(60))
    for name in ("texts", "subjects"):
        (folder / f"{name}.jsonl").write_text(lines)
    (folder / "subjects.tsv").write_text("".join(f"<{uri}>\t{name}\n" for uri, name in SUBJECTS.items()))
    (folder / "one.svm").write_text(ONE)
    (folder / "rules.svm").write_text(ONE)
    (folder / "rules.implied").write_text("1 2\n")
    (folder / "other.svm").write_text(OTHER)
    named = "--labels", folder / "subjects.tsv", "--stem", "english"
    for name, options in (("texts", ()), ("subjects", named)):
        run.ok("vectorize", folder / f"{name}.jsonl", "-o", folder / f"{name}.svm", "-q", *options)
    for name in ("one", "other", "rules", "texts", "subjects"):
        run.ok("train", folder / f"{name}.svm", *OPTIONS)


@pytest.fixture
def service(made, tmp_path, monkeypatch):
    """Serve a copy, m.mpu, of a model."""
    application = pytest.importorskip("mpu_cli.cli.actions.serve")
    monkeypatch.setattr(application, "_SECONDS_BETWEEN_LOOKS", 0.05)
    with ExitStack() as stack:

        def start(name: str, **options: Any) -> Asking:
            shutil.copytree(made(trained) / f"{name}.mpu", tmp_path / "m.mpu")
            return stack.enter_context(serving(tmp_path / "m.mpu", **options))

        yield start
