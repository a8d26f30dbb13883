"""Progress: on a terminal one line that is gone in the end; elsewhere a line for each phase."""

import json
import re
from pathlib import Path

import pytest

import mpu_cli
from mpu_cli.cli import messages
from tests.cli.terminal import on_terminal
from tests.cli.training import ALONE, QUICK

SLOW = """if True:
    import time
    from mpu_cli.__main__ import main
    from mpu_cli.core.frequency import estimators

    def slowly(*arguments, estimate=estimators.estimate):
        time.sleep(1.5)
        return estimate(*arguments)

    estimators.estimate = slowly
    main()"""


def write(folder: Path) -> Path:
    path = folder / "small.svm"
    path.write_text("1 1:1\n2 2:1\n1,2 1:1 2:1\n" * 30)
    return path


@pytest.fixture
def small(tmp_path):
    return write(tmp_path)


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """A training on a terminal."""
    return on_terminal(["train", write(tmp_path_factory.mktemp("small")), *ALONE])


def test_a_terminal_shows_phases_and_keeps_the_report_alone(session):
    assert session.status == 0
    for phase in ("reading data", "estimating c", "learning level 1", "choosing thresholds", "writing the model"):
        assert f"{phase}: " in session.written
    assert session.screen[0].startswith("method ")
    assert session.screen[-1].startswith("model ")
    assert len(session.screen) == 9
    assert "it/s" not in session.written
    assert "?" not in session.written


def test_warnings_stay_on_a_screen_of_their_own_lines(run, small, tmp_path):
    model = tmp_path / "small.mpu"
    assert run("train", small, *QUICK, "-q").exit_code == 0
    (tmp_path / "others.svm").write_text("1 7:1 8:1 9:1\n" * 500)
    session = on_terminal(["predict", model, tmp_path / "others.svm", "-o", tmp_path / "tags", *ALONE])
    assert session.status == 0
    assert session.screen[0].startswith("warning: ")


def test_a_phase_without_ticks_shows_that_time_goes_on(small):
    session = on_terminal(["estimate-c", small, *ALONE], code=SLOW)
    assert session.status == 0
    drawn = {part.split(" | ")[-1] for part in session.written.split("\r\x1b[2K")}
    assert {"estimating c: 0:00", "estimating c: 0:01"} <= drawn


def test_finished_phases_fold_into_the_line_as_far_as_there_is_room(monkeypatch, capsys):
    monkeypatch.setattr(messages, "_width", lambda: 40)
    line = messages.StatusLine()
    for done in (["reading 0:02"], ["reading 0:02", "estimating 0:09"], ["reading 0:02", "estimating 0:09", "x 0:01"]):
        line.show(done, "learning: 50%")
    line.clear()
    assert capsys.readouterr().err.split(messages.CLEARING)[1:] == [
        "reading 0:02 | learning: 50%",
        "... estimating 0:09 | learning: 50%",
        "... x 0:01 | learning: 50%",
        "",
    ]


def test_a_line_is_never_wider_than_the_terminal(session):
    drawn = re.findall(r"\x1b\[2K([^\r\n]*)", session.written)
    assert len(drawn) > 5
    assert max(map(len, drawn)) < 80


def test_an_error_removes_the_line(small):
    small.write_text("1 1:1\n" * 1000 + "word 1:1\n")
    session = on_terminal(["train", small, *ALONE])
    assert session.status == 1
    assert len(session.screen) == 1
    assert session.screen[0].startswith("error: ")


def test_nothing_is_drawn_quietly_or_on_a_dumb_terminal(small):
    assert on_terminal(["train", small, *QUICK, *ALONE, "-q"]).written == ""
    session = on_terminal(["train", small, *QUICK, *ALONE], {"TERM": "dumb"})
    assert "\x1b" not in session.written
    assert session.screen[0].startswith("reading data: ")


def test_predict_counts_instances_unless_predictions_go_to_the_terminal(run, small, tmp_path):
    assert run("train", small, *QUICK, "-q").exit_code == 0
    model = small.with_suffix(".mpu")
    session = on_terminal(["predict", model, small, "-o", tmp_path / "tags.txt", *ALONE])
    assert (session.status, session.screen) == (0, [])
    assert "reading the model: " in session.written
    assert "predicting: " in session.written
    session = on_terminal(["predict", model, small, *ALONE])
    assert "predicting" not in session.written
    assert len(session.screen) == 90


@pytest.mark.slow
def test_evaluation_counts_instances(run, small, tmp_path):
    assert run("train", small, *QUICK, "-q").exit_code == 0
    model = small.with_suffix(".mpu")
    for predictions in ([model], [model, model]):
        session = on_terminal(["evaluate", small, *predictions, *ALONE])
        assert session.status == 0
        assert "\x1b[2Kevaluating: " in session.written
        assert "evaluating" not in " ".join(session.screen)


def test_elsewhere_a_phase_is_a_line(run, small):
    said = run("estimate-c", small).stderr.splitlines()
    assert [line.partition(":")[0] for line in said] == ["reading data", "predicting out of fold", "estimating c"]
    lines = [json.loads(line) for line in run("estimate-c", small, "--log-format", "json").stderr.splitlines()]
    assert [line.get("step") for line in lines[:-1]] == [
        "reading data",
        "predicting out of fold",
        "estimating c",
    ]
    assert "report" in lines[-1]


def test_every_step_has_a_name_for_people():
    """Steps are members of `Step`, but for those of levels, which are numbered."""
    sources = (path.read_text() for path in Path(mpu_cli.__file__).parent.rglob("*.py"))
    steps = {step for source in sources for step in re.findall(r"\.step\(\s*([^,)]+)", source)}
    assert {"Step.READ", "Step.THRESHOLDS", "Step.WRITE"} <= steps
    assert {step for step in steps if not step.startswith("Step.")} <= {"self", "step", "name", 'f"{name}'}
