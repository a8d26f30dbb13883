"""Which kernels run, and that it hardly matters."""

import importlib.util

import pytest

from mpu_cli.errors import MpuError
from mpu_cli.runtime import machine
from mpu_cli.runtime.run import Run
from tests.golden import refused


@pytest.fixture
def without_numba(monkeypatch):
    monkeypatch.setattr(machine, "numba_installed", lambda: False)


def test_numba_is_used_where_it_is_installed():
    assert Run().compiled == (importlib.util.find_spec("numba") is not None)


def test_numba_cannot_be_asked_for_without_it(without_numba, run, digits):
    with refused(MpuError):
        Run(kernel="numba")
    result = run("estimate-c", digits[0], "--kernel", "numba")
    assert result.exit_code == 1
    assert result.stderr == "error: numba is not installed; install it with: pip install numba\n"
