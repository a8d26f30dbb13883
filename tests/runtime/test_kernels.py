"""Which kernels run, and that it hardly matters."""

import importlib.util
import json

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


def test_both_kernels_predict_alike(run, digits, tmp_path):
    pytest.importorskip("numba")
    f1 = []
    for name in ("numpy", "numba"):
        model, predictions = tmp_path / f"{name}.mpu", tmp_path / f"{name}.txt"
        assert run("train", digits[0], "-o", model, "--cost", 30, "--c", 1, "--kernel", name).exit_code == 0
        assert run("predict", model, digits[1], "-o", predictions, "--kernel", name).exit_code == 0
        f1.append(json.loads(run("evaluate", digits[1], predictions, "--json").stdout)["micro_f1"])
    assert f1[0] == pytest.approx(f1[1], abs=0.002)
    # The same but for a few decisions that rounding turns.
    lines = [(tmp_path / f"{name}.txt").read_text().splitlines() for name in ("numpy", "numba")]
    assert sum(a != b for a, b in zip(*lines, strict=True)) < 0.02 * len(lines[0])
