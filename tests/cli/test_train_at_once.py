"""A second `mpu train` on the same model; tests/bundle/test_locking.py has what the first one holds."""

import os

from mpu_cli import bundle


def test_it_ends_with_status_75_and_reads_no_data(run, tmp_path):
    os.mkfifo(tmp_path / "endless.svm")  # nobody will ever write into it
    with bundle.Writer(tmp_path / "tiny.mpu").held():
        result = run("train", tmp_path / "endless.svm", "-o", tmp_path / "tiny.mpu", "--json", "--quiet")
    assert (result.exit_code, result.stdout) == (75, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"error: {tmp_path / 'tiny.mpu'}: is in use by process {os.getpid()} on ")
