"""Standard input and output that the shell has closed."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("redirect, stream", [("<&-", "standard input"), (">&-", "standard output")])
def test_a_closed_stream_is_an_error_of_one_line(redirect, stream, tmp_path):
    data = tmp_path / "data.svm"
    data.write_text("1 1:1\n")
    source = "-" if redirect == "<&-" else data
    command = f'"{sys.executable}" -m mpu_cli corrupt {source} - --missing-rate 0 -q {redirect}'
    result = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert result.returncode == 1
    assert result.stderr.startswith(f"error: {stream}: cannot be ")
    assert result.stderr.count("\n") == 1
