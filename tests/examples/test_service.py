"""The HTTP service, asked by real clients while its model is replaced."""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import pytest

from tests.examples.conftest import EXAMPLES
from tests.slow import slow

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

OPTIONS = ("--levels", 1, "--c", 0.9, "--cost", 30, "--epochs", 5, "-q")
ONE = "1 1:1\n2 2:1\n1,2 1:1 2:1\n" * 30
OTHER = "3 1:1\n4 2:1\n3,4 1:1 2:1\n" * 30
LAST = OTHER.replace("3", "5")


class Service:
    """A service in a process of its own."""

    def __init__(self, model) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        root = EXAMPLES.parent
        self.process = subprocess.Popen(
            [sys.executable, str(EXAMPLES / "service.py"), str(model), "--port", str(self.port)],
            env={**os.environ, "PYTHONPATH": str(root)},
            stderr=subprocess.PIPE,
        )
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                self.ask("/health")
                return
            except OSError:
                assert self.process.poll() is None, self.process.stderr.read()
                time.sleep(0.1)
        raise AssertionError("the service does not answer")

    def ask(self, path: str, body: bytes | dict | None = None) -> tuple[int, dict]:
        """Send a request; give status and answer."""
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", data, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def end(self) -> str:
        """End it; give what it has logged."""
        self.process.terminate()
        return self.process.communicate()[1].decode()


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Two models with other labels, and one of texts."""
    from click.testing import CliRunner

    from mpu_cli.cli import mpu

    place = tmp_path_factory.mktemp("models")
    records = [
        {"id": str(i), "text": "a law" if i % 2 else "a match", "tags": ["Law" if i % 2 else "Sport"]}
        for i in range(60)
    ]
    (place / "texts.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    commands = [("vectorize", place / "texts.jsonl", "-o", place / "texts.svm", "-q")]
    for name, text in (("one", ONE), ("other", OTHER)):
        (place / f"{name}.svm").write_text(text)
    commands += [("train", place / f"{name}.svm", *OPTIONS) for name in ("one", "other", "texts")]
    for command in commands:
        result = CliRunner().invoke(mpu, list(map(str, command)))
        assert result.exit_code == 0, result.output
    return place


@pytest.fixture
def service(trained, tmp_path):
    made = []

    def start(name: str) -> Service:
        shutil.copytree(trained / f"{name}.mpu", tmp_path / "m.mpu")
        made.append(Service(tmp_path / "m.mpu"))
        return made[0]

    yield start
    for one in made:
        if one.process.returncode is None:
            one.end()


def test_it_predicts_what_the_command_predicts_and_refuses_what_makes_no_sense(service, run, tmp_path):
    asked = service("one")
    assert asked.ask("/health") == (
        200,
        {"status": "ok", "problem": None, "model": str(tmp_path / "m.mpu"), "labels": 2},
    )
    status, found = asked.ask("/predict", {"instances": [{"1": 1}, {"2": 1.0}, {"1": 1, "2": 1, "99": 5}, {}]})
    assert status == 200
    assert [one["labels"] for one in found["predictions"][:2]] == [["1"], ["2"]]
    assert set(found["predictions"][2]["labels"]) == {"1", "2"}
    (tmp_path / "x.svm").write_text(" 1:1\n")
    line = run("predict", tmp_path / "m.mpu", tmp_path / "x.svm", "--format", "scores").stdout
    scores = line.partition("#")[0].split()
    assert found["predictions"][0]["scores"] == pytest.approx(
        {label: float(score) for label, _, score in (entry.partition(":") for entry in scores)}, abs=1e-5
    )
    assert asked.ask("/predict", {"instances": [{"1": 1}], "top": 1})[1]["predictions"][0]["scores"].keys() == {"1"}
    assert asked.ask("/predict", {"instances": []}) == (200, {"predictions": []})
    for body, status in (
        (b"no JSON", 400),
        (b"[1]", 400),
        (b'{"instances": [{"one": 1}]}', 400),
        (b'{"instances": [{"1": NaN}]}', 400),
        (b'{"instances": [{"1": true}]}', 400),
        (b'{"instances": [{"1": 1}], "top": 0}', 400),
        (b'{"texts": ["a text"]}', 400),
        (b"{}", 400),
        (b'{"instances": ' + b"[" * 100_000, 400),
        (b" " * (2 << 20), 413),
        (json.dumps({"instances": [{"1": 1}] * 1001}).encode(), 413),
    ):
        found = asked.ask("/predict", body)
        assert found[0] == status, body[:40]
        assert found[1].keys() == {"error"}
    with pytest.raises(urllib.error.HTTPError, match="405"):
        urllib.request.urlopen(f"http://127.0.0.1:{asked.port}/predict", timeout=30)
    assert asked.ask("/health")[1]["status"] == "ok"


@pytest.mark.slow  # each starts a service
def test_texts(service):
    status, found = service("texts").ask("/predict", {"texts": ["a new law", "the match"]})
    assert status == 200
    assert [one["labels"] for one in found["predictions"]] == [["Law"], ["Sport"]]


@pytest.mark.slow  # each starts a service
def test_clients_are_answered_by_one_model_or_the_other_while_it_is_replaced(service, run, tmp_path):
    asked = service("one")
    (tmp_path / "m.svm").write_text(OTHER)
    answers: list[tuple[int, tuple]] = []
    end = threading.Event()

    def ask() -> None:
        while not end.is_set():
            status, found = asked.ask("/predict", {"instances": [{"1": 1}]})
            answers.append((status, tuple(found["predictions"][0]["labels"])))

    clients = [threading.Thread(target=ask) for _ in range(8)]
    for client in clients:
        client.start()
    for text in (OTHER, ONE, LAST):
        (tmp_path / "m.svm").write_text(text)
        assert run("train", tmp_path / "m.svm", *OPTIONS).exit_code == 0
    deadline = time.monotonic() + 60
    while (len(answers) <= 20 or (200, ("5",)) not in answers) and time.monotonic() < deadline:
        time.sleep(0.1)
    end.set()
    for client in clients:
        client.join()
    assert len(answers) > 20
    assert {(200, ("1",)), (200, ("5",))} <= set(answers) <= {(200, (label,)) for label in ("1", "3", "5")}
    status, found = asked.ask("/predict", {"instances": [{"1": 1}]})
    assert (status, found["predictions"][0]["labels"]) == (200, ["5"])


def test_a_model_that_cannot_be_read_leaves_the_old_one_in_use(service, tmp_path):
    asked = service("one")
    manifest = tmp_path / "m.mpu" / "manifest.json"
    kept = manifest.read_bytes()
    manifest.write_text("{")
    state = asked.ask("/health")[1]
    assert (state["status"], state["labels"]) == ("old model", 2)
    assert "manifest.json" in state["problem"]
    assert asked.ask("/predict", {"instances": [{"1": 1}]})[1]["predictions"][0]["labels"] == ["1"]
    manifest.write_bytes(kept)
    assert asked.ask("/health")[1]["status"] == "ok"


@pytest.mark.parametrize("body", [b'{"instances"', *slow(b"")])
def test_clients_that_leave_in_mid_body_leave_nothing_in_the_log(service, body):
    """Each left 2.8 kB of traceback."""
    asked = service("one")
    for _ in range(5):
        with socket.create_connection(("127.0.0.1", asked.port)) as client:
            client.sendall(b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n" + body)
            time.sleep(0.05)  # until it is being read
    assert asked.ask("/predict", {"instances": [{"1": 1}]})[0] == 200
    assert asked.end() == ""


@pytest.mark.slow  # each starts a service
def test_no_model_is_an_error(tmp_path):
    command = [sys.executable, str(EXAMPLES / "service.py"), str(tmp_path)]
    result = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(EXAMPLES.parent)}, capture_output=True, text=True
    )
    assert result.returncode == 2
    assert "manifest.json" in result.stderr
    assert "Traceback" not in result.stderr
