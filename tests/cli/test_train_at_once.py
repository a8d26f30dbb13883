"""Several `mpu train` on the same model."""

import os
import socket

import pytest

from mpu_cli import bundle
from tests.cli.training import QUICK, TINY


@pytest.fixture
def busy(tmp_path):
    """Give data whose model is being trained."""
    (tmp_path / "tiny.svm").write_text(TINY)
    with bundle.writer(tmp_path / "tiny.mpu"):
        yield tmp_path / "tiny.svm"


@pytest.mark.parametrize("options", [(), ("--json", "--quiet")])
def test_the_second_ends_with_status_75_and_says_who_is_the_first(run, busy, options):
    result = run("train", busy, *QUICK, *options)
    assert result.exit_code == 75
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"error: {busy.with_suffix('.mpu')}: is in use by process {os.getpid()} on ")
    assert f"on {socket.gethostname()} since 20" in line
    assert line.endswith(" UTC; try again when it has finished")


def test_the_second_reads_no_data(run, busy, tmp_path):
    os.mkfifo(tmp_path / "endless.svm")  # nobody will ever write into it
    assert run("train", tmp_path / "endless.svm", "-o", busy.with_suffix(".mpu")).exit_code == 75
