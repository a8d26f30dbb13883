"""``--log-format json``: every line on standard error is an object, whatever is said and by whom."""

import json
import os
import warnings
from datetime import UTC, datetime
from unittest.mock import patch

import pytest

from mpu_cli.__main__ import main
from mpu_cli.cli.actions import review
from mpu_cli.runtime import compilation
from tests.cli.terminal import on_terminal
from tests.cli.training import QUICK


def objects(text: str) -> list[dict]:
    """The lines, each with the time of now and a level."""
    lines = [json.loads(line) for line in text.splitlines()]
    for line in lines:
        age = datetime.now(UTC) - datetime.fromisoformat(line["time"])
        assert abs(age.total_seconds()) < 600
        assert line["level"] in ("debug", "info", "warning", "error")
        assert len({"step", "message", "report"} & line.keys()) == 1
    return lines


def test_steps_have_their_ticks_and_seconds(run, tiny):
    lines = objects(run("train", tiny, *QUICK, "--folds", 2, "--log-format", "json").stderr)
    assert lines.pop()["report"]["labels"] == 3
    steps = {line["step"]: line["ticks"] for line in lines}
    out_of_fold = {"learning level 0": 1, "predicting level 0 out of fold": 2}
    assert steps == {"reading data": 0, **out_of_fold, "choosing thresholds": 0, "writing the model": 0}


def test_steps_have_the_same_names_in_text_in_json_and_in_the_report(run, tiny):
    text = run("train", tiny, *QUICK, "-v").stderr
    result = run("train", tiny, *QUICK, "--log-format", "json", "--json")
    lines = [line for line in objects(result.stderr) if "step" in line]
    assert [line["step"] for line in lines] == [line.rpartition(": ")[0] for line in text.splitlines()[:-1]]
    assert [line["step"] for line in lines] == list(json.loads(result.stdout)["seconds"])


def test_lines_name_the_command_and_what_it_works_on(run, tiny, tiny_model):
    *_, line = objects(run("predict", tiny_model, "nothing", "-o", "out", "--log-format", "json").stderr)
    expected = {"command": "predict", "model": str(tiny_model), "file": "nothing", "pid": os.getpid(), "level": "error"}
    assert expected | line == line
    (line,) = objects(run("evaluate", tiny, "--nothing", "--log-format", "json").stderr)
    assert line["command"] == "evaluate"
    lines = objects(run("train", tiny, *QUICK, "--log-format", "json").stderr)
    assert {(line["command"], line["file"]) for line in lines} == {("train", str(tiny))}


def test_counts_are_fields(run, tiny, tiny_model):
    (line,) = objects(run("corrupt", tiny, "--missing-rate", 0.5, "--log-format", "json").stderr)
    assert {"instances": 5, "labels": 5, "removed": 2} | line == line
    assert line["level"] == "info"
    more = "1 1:1 9:1\n"
    lines = objects(run("predict", tiny_model, "-", "-v", "--log-format", "json", stdin=more.encode()).stderr)
    assert [line.pop("step", None) for line in lines[:2]] == ["reading the model", "predicting"]
    assert [line["level"] for line in lines[2:]] == ["warning", "debug"]
    assert (lines[2]["unknown"], lines[3]["instances"]) == (1, 1)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["predict", "none.mpu", "x", "--log-format", "json"], 1, "none.mpu: there is no such model"),
        (["evaluate", "none", "x", "--log-format", "json"], 1, "none: cannot be read"),
        (["corrupt", "x", "--log-format", "json"], 2, "Missing option '--missing-rate'"),
        (["train", "--fast", "--log-format", "json"], 2, "No such option"),
        (["train", "x", "--cost", "-1", "--log-format=json"], 2, "Invalid value for '--cost'"),
    ],
)
def test_errors_are_objects(run, arguments, status, message):
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (status, "")
    (line,) = objects(result.stderr)
    assert line["level"] == "error"
    assert line["message"].startswith(message)


def test_one_run_s_format_is_not_the_next_one_s(run):
    assert run("predict", "none.mpu", "x", "--log-format", "json").stderr.startswith("{")
    assert run("predict", "none.mpu", "x").stderr.startswith("error: none.mpu")
    assert run("predict", "--nonsense").stderr.startswith("error: ")


def with_words_of_others() -> None:
    """Run `mpu` as where nothing is compiled yet, and with a warning of Python's."""

    def spoken(*args, read=review.read, **kwargs):
        compilation.announce_compilation()
        warnings.warn("a word of warning", stacklevel=1)
        return read(*args, **kwargs)

    with patch.object(review, "read", spoken):
        main()


def test_no_bar_on_a_terminal_but_compilation_and_warnings_are_objects_too(tiny):
    pytest.importorskip("numba")
    arguments = ["review", tiny, "-o", tiny.with_name("page.html"), "--log-format", "json"]
    session = on_terminal(arguments, with_words_of_others)
    assert session.status == 0
    lines = objects(session.written)
    assert any("a word of warning" in line.get("message", "") for line in lines)
    assert any("compiling the fast kernels" in line.get("message", "") for line in lines)


def test_what_strangers_have_written_at_length_is_quoted_in_part(run, tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps({"a" * 1_000_000: 1}) + "\n")
    result = run("vectorize", tmp_path / "a.jsonl", "-o", tmp_path / "a.svm")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error: {tmp_path / 'a.jsonl'}:1: there is no field 'text' here; there are [...] ")
    assert len(result.stderr) < 1000
