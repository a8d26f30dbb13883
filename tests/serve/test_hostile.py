"""Clients that ask for nothing, ask slowly, or ask in another machine's name."""

import http.client
import logging
import socket
import sys
import time
from contextlib import ExitStack

import pytest

from mpu_cli.errors import MpuError
from tests.golden import refused
from tests.serve.conftest import serving, trained

application = pytest.importorskip("mpu_cli.cli.actions.serve")
HEAD = b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"
LONG = HEAD.replace(b"1000", b"9" * 17)


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=30)


@pytest.mark.slow  # it waits
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc")
def test_idle_connections_do_not_stop_it(service, monkeypatch, caplog):
    """At 64 files, 60 of them stopped it, and left 178 MB of tracebacks in half a minute."""
    monkeypatch.setattr(application, "_most_connections", lambda: 8)
    monkeypatch.setattr(application, "_SECONDS_TO_ASK", 1.0)
    asked = service("one")
    with caplog.at_level(logging.INFO):
        idle = [connected(asked.port) for _ in range(60)]
        for client in idle[:8]:
            client.close()
        deadline = time.monotonic() + 20
        while True:
            try:
                assert asked.ask("/health")[0] == 200
                break
            except (OSError, http.client.HTTPException):
                assert time.monotonic() < deadline
                time.sleep(0.05)
        for client in idle:
            client.close()
    assert "Traceback" not in caplog.text
    assert len(caplog.text) < 5000


@pytest.mark.parametrize(("sent", "status"), [(b"", b""), (b"GET /hea", b""), (HEAD + b"{", b"408"), (LONG, b"413")])
def test_who_does_not_finish_a_request_is_sent_away(service, monkeypatch, sent, status):
    monkeypatch.setattr(application, "_SECONDS_TO_ASK", 0.3)
    monkeypatch.setattr(application, "_SECONDS_OF_BODY", 0.3)
    with connected(service("one").port) as client:
        client.sendall(sent)
        with client.makefile("rb") as answer:
            assert answer.read()[9:12] == status


def test_a_slow_client_is_told_that_the_service_ends(made, tmp_path, monkeypatch, caplog):
    """It left a traceback, and had status 500."""
    monkeypatch.setattr(application, "_SECONDS_TO_FINISH", 0.2)
    logging.getLogger("uvicorn").propagate = True
    with caplog.at_level(logging.INFO), ExitStack() as stack:
        with serving(made(trained) / "one.mpu") as asked:
            client = stack.enter_context(connected(asked.port))
            client.sendall(HEAD + b"{")
            time.sleep(0.3)
        assert client.recv(100).startswith(b"HTTP/1.1 503")
    assert "Traceback" not in caplog.text
    assert "/predict 503" in caplog.text


def test_bodies_that_wait_for_their_end_have_a_limit_together(service, monkeypatch):
    monkeypatch.setattr(application, "_MOST_BYTES_AT_A_TIME", 1500)
    asked = service("one", max_bytes=1000)
    with connected(asked.port) as first, connected(asked.port) as second:
        first.sendall(HEAD + b" " * 990)
        time.sleep(0.3)
        second.sendall(HEAD + b" " * 990)
        assert second.recv(100).startswith(b"HTTP/1.1 503")
        first.sendall(b'{"a": 1}  ')
        assert first.recv(100).startswith(b"HTTP/1.1 400")
    assert asked.ask("/predict", {"instances": []})[0] == 200


def test_a_page_of_another_name_reads_nothing(service):
    """A stranger's page can have its own name mean this machine (DNS rebinding)."""
    asked = service("one", hosts=["localhost", "::1"])
    for host, status in (
        ("localhost", 200),
        ("LOCALHOST:80", 200),
        ("[::1]:8000", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example:8000", 421),
        ("[", 421),
    ):
        connection = http.client.HTTPConnection("127.0.0.1", asked.port, timeout=30)
        connection.request("GET", "/health", headers={"Host": host})
        assert connection.getresponse().status == status, host
        connection.close()


def test_a_name_that_cannot_be_one_is_an_error():
    with refused(MpuError), application.at_port("a..b", 0):
        pass
