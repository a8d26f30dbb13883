"""The HTTP service, asked by real clients while its model is replaced."""

import hashlib
import json
import logging
import re
import shutil
import socket
import time
import urllib.parse
from unittest.mock import patch

import pytest

from mpu_cli import bundle
from mpu_cli.runtime.run import Run
from tests.serve.conftest import OPTIONS, OTHER, SUBJECTS, trained

serve = pytest.importorskip("mpu_cli.cli.actions.serve")


def sent(text: str) -> bytes:
    """A form as Annif's http backend sends it."""
    return urllib.parse.urlencode({"text": text, "limit": 100}).encode()


def test_it_predicts_what_the_command_predicts(service, run, tmp_path):
    """`top` shortens the scores and never the labels."""
    asked = service("one")
    status, health = asked.ask("/health")
    version = health.pop("version")
    assert (status, health) == (200, {"status": "ok", "problem": None, "model": str(tmp_path / "m.mpu"), "labels": 2})
    assert (tmp_path / "m.mpu" / f"training-{version}.json").exists()
    found = asked.ok("/predict", {"instances": [{"1": 1}, {"2": 1.0}, {"1": 1, "2": 1, "99": 5}, {}]})
    assert (found["version"], found["features"], found["unknown_features"]) == (version, 5, 1)
    (tmp_path / "x.svm").write_text(" 1:1\n 2:1\n 1:1 2:1 99:5\n\n")
    records = run("predict", tmp_path / "m.mpu", tmp_path / "x.svm", "--format", "jsonl").stdout.splitlines()
    assert [one["labels"] for one in found["predictions"]] == [json.loads(record)["labels"] for record in records]
    line = run("predict", tmp_path / "m.mpu", tmp_path / "x.svm", "--format", "scores").stdout.splitlines()[0]
    scores = {label: float(score) for label, score in re.findall(r"(\d+):(\S+)", line.partition("#")[0])}
    assert found["predictions"][0]["scores"] == pytest.approx(scores, abs=1e-5)
    assert list(found["predictions"][1]["scores"]) == ["2", "1"]
    (short,) = asked.ok("/predict", {"instances": [{"1": 1, "2": 1}], "top": 1})["predictions"]
    assert (set(short["labels"]), len(short["scores"])) == ({"1", "2"}, 1)
    assert asked.ask("/predict", {"instances": []})[1]["predictions"] == []


REFUSED = (
    (b"no JSON", 400, "the body: this is not JSON"),
    (b"[1]", 400, "the body is not a JSON object"),
    (b'{"instances": [{"one": 1}]}', 400, "instance 1: give each index once"),
    (b'{"instances": [{}, {"1": 1, "01": 1}]}', 400, "instance 2: give each index once"),
    (b'{"instances": [{"1": 1, "1": 2}]}', 400, "the body: duplicate key"),
    (b'{"instances": [{"1": NaN}]}', 400, "the body: a number is not finite"),
    (b'{"instances": [{"1": -Infinity}]}', 400, "the body: a number is not finite"),
    (b'{"instances": [{"1": 1e39}]}', 400, "the value of 1 is not a 32-bit number"),
    (b'{"instances": [{"1": %s}]}' % (b"9" * 5000), 400, "the body: a number is not finite"),
    (b'{"instances": [{"1": 3e38, "2": 3e38}]}', 400, "scores exceed the range of 32-bit floats"),
    (b'{"instances": [{"1": true}]}', 400, "the value of 1 is not a 32-bit number"),
    (b'{"instances": [{"1": 1}], "top": 0}', 400, "top: 0: give a whole number from 1 to 100"),
    (b'{"instances": [{"1": 1}], "top": true}', 400, "top: True"),
    (b'{"instances": [{"1": 1}], "top": 101}', 400, "top: 101"),
    (b'{"instances": [{"1": 1}], "fill_implied": "yes"}', 400, "fill_implied: give true or false"),
    (b'{"instances": [{"1": 1}], "topk": 1}', 400, "'topk' is not a field of a request; fields are texts, instances"),
    (b'{"instances": [{"1": 1}], "\\ud800": 1}', 400, "is not a field of a request"),
    (b'{"instances": [{"1": 1}], "texts": []}', 400, 'give {"texts"'),
    (b'{"instances": {"1": 1}}', 400, "instances: give a list of objects"),
    (b'{"texts": ["a text"]}', 400, "the model has no vectoriser"),
    (b'{"texts": ["\\ud800"]}', 400, "half of a surrogate pair"),
    (b"{}", 400, 'give {"texts"'),
    (b'{"instances": ' + b"[" * 100_000, 400, "nested more than"),
    (b" " * (2 << 20), 413, "give at most 1,048,576 bytes"),
    (json.dumps({"instances": [{"1": 1}] * 1001}).encode(), 413, "1,001 instances: give at most 1,000 at a time"),
)


def test_what_makes_no_sense_is_refused(service):
    asked = service("one")
    for body, status, words in REFUSED:
        found = asked.ask("/predict", body)
        assert found[0] == status, body[:40]
        assert found[1].keys() == {"error"}
        assert words in found[1]["error"]
    assert asked.ask("/predict")[0] == 405
    assert asked.ask("/other") == (404, {"error": "Not Found"})
    assert asked.ask("/health")[1]["status"] == "ok"


def test_the_largest_body_is_an_option(service):
    asked = service("one", max_bytes=100)
    assert [asked.ask("/predict", b'{"instances": []}'.ljust(size))[0] for size in (100, 101)] == [200, 413]


def test_texts_have_labels_by_name_and_those_without_a_known_word_a_warning(service):
    asked = service("texts")
    found = asked.ok("/predict", {"texts": ["a new law", "the match"]})
    assert [one["labels"] for one in found["predictions"]] == [["Law"], ["Sport"]]
    assert found["predictions"][0].keys() == {"labels", "scores"}
    assert asked.ask("/predict", {"texts": []})[1]["predictions"] == []
    found = asked.ok("/predict", {"texts": ["a law", "xyz", ""]})
    assert found["warnings"] == [f"text {number} has no word that the model knows" for number in (2, 3)]


def test_labels_have_uris_where_a_thesaurus_has_them(service):
    found = service("subjects").ok("/predict", {"texts": ["a new law"]})
    assert found["predictions"][0]["labels"] == ["Law"]
    assert found["predictions"][0]["uris"] == ["http://example.org/law"]


@pytest.mark.parametrize("of_service", [False, True])
def test_broader_labels_are_filled_in(service, run, tmp_path, of_service):
    asked, body = service("rules", fill_implied=of_service), {"instances": [{"1": 1}, {"2": 1}]}
    found = asked.ok("/predict", body | ({} if of_service else {"fill_implied": True}))
    (tmp_path / "x.svm").write_text(" 1:1\n 2:1\n")
    args = "predict", tmp_path / "m.mpu", tmp_path / "x.svm", "--format", "jsonl", "--fill-implied"
    records = map(json.loads, run(*args).stdout.splitlines())
    assert [one["labels"] for one in found["predictions"]] == [record["labels"] for record in records]
    first = found["predictions"][0]
    assert first["labels"] == ["1", "2"]
    assert first["scores"]["2"] == first["scores"]["1"]  # its own is smaller
    answer = asked.ask("/predict", body | {"fill_implied": True, "top": 1})[1]["predictions"][0]
    assert (answer["labels"], list(answer["scores"])) == (["1", "2"], ["1"])
    alone = asked.ask("/predict", body | {"fill_implied": False})[1]["predictions"]
    assert [one["labels"] for one in alone] == [["1"], ["2"]]


def test_broader_labels_that_the_model_does_not_know_are_refused(service):
    status, found = service("one").ask("/predict", {"instances": [{"1": 1}], "fill_implied": True})
    assert (status, "--implied RULES" in found["error"]) == (400, True)


def test_texts_in_a_language_that_the_model_has_not_seen_are_a_warning(service):
    asked = service("subjects")
    english, german = "the law of the land and of the sea", "das Gesetz (law) ist für die Menschen und nicht gegen sie"
    assert "warnings" not in asked.ask("/predict", {"texts": [english] * 20})[1]
    [warning] = asked.ok("/predict", {"texts": [german] + [english] * 19})["warnings"]
    assert "1 of 20 texts in other languages" in warning
    assert "german 1" in warning
    assert "warnings" not in asked.ask("/predict", {"texts": [german] + [english] * 20})[1]  # as in `predict`
    assert "1 of 1 text " in asked.ask("/v1/projects/m/suggest", sent(german))[1]["warnings"][0]


def test_annifs_http_backend_is_answered(service):
    """Annif 1.4.3, annif/backend/http.py: GET of the endpoint without /suggest; POST of a form."""
    asked = service("subjects")
    status, project = asked.ask("/v1/projects/m")
    assert (status, project["is_trained"]) == (200, True)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00", project["modification_time"])
    found = asked.ok("/v1/projects/m/suggest", sent("a new law & order ä"))
    assert {hit["uri"]: hit["label"] for hit in found["results"]} == SUBJECTS
    assert found["results"][0]["label"] == "Law"
    assert found["results"][0]["score"] > found["results"][1]["score"] > 0
    assert found["version"] == project["version"]
    metadata = sent("a match") + b"&project=p&metadata_title=a"
    assert asked.ask("/v1/projects/m/suggest", metadata)[1]["results"][0]["label"] == "Sport"
    assert len(asked.ask("/v1/projects/m/suggest", b"text=law&limit=1")[1]["results"]) == 1
    assert asked.ask("/v1/projects/m/suggest", b"text=")[0] == 200
    for body in (b"limit=1", b"text=a&text=b", b"text=a&limit=many", b"text=a&language=en", b"text=%ff", b"\xff"):
        assert asked.ask("/v1/projects/m/suggest", body)[0] == 400, body
    multipart = b'--x\r\nContent-Disposition: form-data; name="text"\r\n\r\na & b = c\r\n--x--\r\n'
    assert "x-www-form-urlencoded" in asked.ask("/v1/projects/m/suggest", multipart)[1]["error"]
    for path, body in (("", None), ("/suggest", b"text=a")):
        assert asked.ask(f"/v1/projects/other{path}", body)[0] == 404


def test_annif_is_told_where_labels_have_no_uris(service):
    status, found = service("texts").ask("/v1/projects/m/suggest", sent("a law"))
    assert status == 400
    assert "URIs" in found["error"]


def test_a_model_that_is_replaced_is_read_anew(service, run, made, tmp_path):
    asked = service("one")
    before = asked.ask("/health")[1]["version"]
    (tmp_path / "m.svm").write_text(OTHER)
    (tmp_path / "test.svm").write_text("".join(reversed(OTHER.splitlines(keepends=True))))
    run.ok("train", tmp_path / "m.svm", *OPTIONS, "--accept-on", tmp_path / "test.svm")
    model = tmp_path / "m.mpu"
    asked.until("/health", 200, version=hashlib.sha256((model / "manifest.json").read_bytes()).hexdigest()[:16])
    assert asked.ask("/predict", {"instances": [{"1": 1}]})[1]["predictions"][0]["labels"] == ["3"]
    model.rename(tmp_path / "bad.mpu")
    model.with_name("m.mpu.1").rename(model)
    asked.until("/health", 200, version=before)


@pytest.mark.parametrize("what", ["the model", "its weights"])
def test_health_says_that_a_model_is_gone_and_that_it_is_back(service, tmp_path, what):
    asked = service("one")
    model = tmp_path / "m.mpu"
    gone = model if what == "the model" else next(model.glob("level0-*"))
    gone.rename(tmp_path / "away")
    state = asked.until("/health", 503)
    assert (state["status"], state["labels"]) == ("old model", 2)
    assert ("there is no such model" if what == "the model" else "is missing") in state["problem"]
    assert asked.ask("/predict", {"instances": [{"1": 1}]})[1]["predictions"][0]["labels"] == ["1"]
    (tmp_path / "away").rename(gone)
    asked.until("/health", 200)


def test_a_model_that_could_not_be_read_is_not_read_again_before_it_changes(made, tmp_path):
    shutil.copytree(made(trained) / "one.mpu", tmp_path / "m.mpu")
    service = serve.Service(tmp_path / "m.mpu", Run(), fill_implied=False, max_bytes=1)
    shutil.copytree(made(trained) / "other.mpu", tmp_path / "m.mpu", dirs_exist_ok=True)
    with patch.object(bundle, "load", side_effect=MemoryError) as load:
        for _ in range(3):
            service.refresh()
        assert (load.call_count, service.problem) == (1, "MemoryError")
    (tmp_path / "m.mpu" / "manifest.json").touch()
    service.refresh()
    assert (service.problem, service.loaded.labels) == (None, ["3", "4"])


def test_the_log_says_why_a_request_is_refused(service, caplog):
    asked = service("one")
    logging.getLogger("mpu_cli").propagate = True
    with caplog.at_level(logging.INFO, "mpu_cli"):
        _, found = asked.ask("/predict", b"{")
        asked.ask("/health")  # after what is logged of the first
    record = next(record for record in caplog.records if hasattr(record, "counts"))
    assert record.getMessage().startswith("127.0.0.1 POST /predict 400 ")
    assert record.getMessage().endswith(found["error"])
    assert record.counts["reason"] == found["error"]


def test_paths_are_listed(service):
    asked = service("one")
    status, found = asked.ask("/")
    assert (status, found["version"]) == (200, asked.ask("/health")[1]["version"])
    assert {"POST /predict", "GET /health"} < set(found["paths"])


@pytest.mark.parametrize("body", [b'{"instances"', b""])
def test_clients_that_leave_in_mid_body_are_no_error(service, body, caplog):
    """Each left 2.8 kB of traceback."""
    asked = service("one")
    with caplog.at_level(logging.INFO):
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", asked.port)) as client:
                client.sendall(b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n" + body)
                time.sleep(0.05)  # until it is being read
        assert asked.ask("/predict", {"instances": [{"1": 1}]})[0] == 200
    assert [record for record in caplog.records if record.levelno > logging.INFO] == []
    assert sum(" POST /predict 499 " in record.getMessage() for record in caplog.records) == 5


def test_a_failure_of_the_service_is_one_answer_and_is_logged(service, monkeypatch, caplog):
    asked = service("one")
    monkeypatch.setattr(serve.Loaded, "answer", lambda *_: 1 / 0)
    logging.getLogger("uvicorn").propagate = True
    status, found = asked.ask("/predict", {"instances": [{"1": 1}]})
    assert (status, found) == (500, {"error": "internal error; see the log of the service"})
    monkeypatch.undo()
    assert asked.ask("/predict", {"instances": [{"1": 1}]})[0] == 200
    assert "ZeroDivisionError" in caplog.text
