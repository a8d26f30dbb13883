"""Variables of the environment, and limits of the system, that libraries answer with a traceback."""

import subprocess
import sys
import threading

import pytest

from tests.cli.training import QUICK, message
from tests.golden import assert_worded


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SOURCE_DATE_EPOCH", "yesterday"),
        ("SOURCE_DATE_EPOCH", "9" * 30),
        ("SOURCE_DATE_EPOCH", "-1"),
        ("NUMBA_NUM_THREADS", "0"),
        ("NUMBA_NUM_THREADS", ""),
    ],
)
def test_a_variable_that_is_no_number_is_named(run, tiny, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    result = run("train", tiny, *QUICK)
    assert (result.exit_code, result.stdout) == (1, "")
    message(result)
    assert not tiny.with_suffix(".mpu").exists()


def test_a_limit_of_threads_is_named_from_the_start():
    code = 'import threading\ndef refuse(_): raise RuntimeError("can\'t start new thread")\n'
    code += "threading.Thread.start = refuse\nfrom mpu_cli.__main__ import main\nmain()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 1
    (line,) = result.stderr.splitlines()
    assert_worded(line)


def test_a_limit_of_threads_is_named(run, tiny, monkeypatch):
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    result = run("train", tiny, *QUICK, "-j", 2)
    assert result.exit_code == 1
    message(result)
