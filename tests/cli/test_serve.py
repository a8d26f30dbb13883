"""``mpu serve`` as a process: how it begins, what it logs, and how it ends."""

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import time

import pytest

from tests.cli.started import Started
from tests.cli.training import message
from tests.slow import slow

for package in ("starlette", "uvicorn"):
    pytest.importorskip(package)

BODY = json.dumps({"instances": [{"1": 1}]})


@pytest.fixture
def serving(start, tiny_model):
    """Start the command; give the process, and where it answers."""

    def serve(*options) -> tuple[Started, str]:
        process = start("serve", tiny_model, "--port", 0, *options)
        return process, re.search(r"answers at http://([^\s\"]+)", process.stderr.readline())[1]

    return serve


def answered(where: str, body: str = BODY) -> tuple[int, dict]:
    host, port = where.split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=30)
    connection.request("POST", "/predict", body)
    answer = connection.getresponse()
    found = answer.status, json.load(answer)
    connection.close()
    return found


@pytest.mark.slow  # a service of its own
def test_lines_of_text_begin_with_the_time(serving):
    process, where = serving()
    assert answered(where, "{}")[0] == 400
    process.send_signal(signal.SIGTERM)
    lines = process.end()[1].splitlines()
    assert len(lines) == 2
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00 ", line) for line in lines)


def test_each_request_is_a_line_of_the_log_and_a_signal_ends_it(serving):
    process, where = serving("--log-format", "json")
    assert (answered(where)[0], answered(where, "{}")[0]) == (200, 400)
    process.send_signal(signal.SIGTERM)
    out, log, status = process.end()
    first, second, last = [json.loads(line) for line in log.splitlines()]
    assert (out, status) == ("", 0)
    expected = {"level": "info", "client": "127.0.0.1", "method": "POST", "path": "/predict", "status": 200}
    assert expected.items() <= first.items()
    assert 0 < first["seconds"] < 60
    assert (second["status"], last["level"], last["message"].split()[-1]) == (400, "info", "ended")


@pytest.mark.slow  # a process each
def test_requests_under_way_are_finished_and_a_second_signal_ends_at_once(serving):
    process, where = serving()
    host, port = where.split(":")
    head = f"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(BODY)}\r\n\r\n".encode()
    with socket.create_connection((host, int(port))) as client, socket.create_connection((host, int(port))) as slow:
        client.sendall(head)
        slow.sendall(head)
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        client.sendall(BODY.encode())
        assert client.recv(100).startswith(b"HTTP/1.1 200")
        assert process.poll() is None  # it waits for the other one
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 143
    assert process.stderr.read().endswith("terminated\n")


def test_a_damaged_model_cannot_be_served(run, tiny_model):
    (tiny_model / "manifest.json").write_text("{")
    assert "manifest.json is damaged" in message(run("serve", tiny_model))


def test_a_place_that_is_taken_is_an_error(run, tiny_model):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        (line,) = run("serve", tiny_model, "--port", port).stderr.splitlines()
    assert line.startswith(f"error: cannot listen at 127.0.0.1, port {port}: Address already in use; give another --")
    (line,) = run("serve", tiny_model, "--host", "nowhere.invalid").stderr.splitlines()
    assert line.startswith("error: cannot listen at nowhere.invalid, port 8000: ")


@pytest.mark.parametrize("package", ["uvicorn", *slow("starlette")])
def test_a_missing_extra_is_named(tiny_model, package):
    """In a process of its own: here all of it is imported already."""
    code = f"import sys; sys.modules[{package!r}] = None\nfrom mpu_cli.__main__ import main\nmain()"
    result = subprocess.run([sys.executable, "-c", code, "serve", tiny_model], capture_output=True, text=True)
    expected = f"error: the package {package} is not installed: run pip install '.[serve]' in a copy of mpu's source\n"
    assert (result.returncode, result.stdout, result.stderr) == (1, "", expected)
