"""A shell in which `mpu` and Python are those of these tests, and nothing else is set."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT

EXAMPLES = ROOT / "examples"
NEWS = "1 1:1\n2 2:1\n1,2 1:1 2:1\n" * 30
HELD_OUT = "1,2 1:1 2:1\n2 2:1\n1 1:1\n" * 30  # no copy of these


@pytest.fixture
def place(tmp_path, mpu_program) -> Path:
    """A directory with data, and `bin` with the programs."""
    (tmp_path / "bin").mkdir()
    python = f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" "$@"\n'
    for name, content in (("mpu", mpu_program), ("python", python), ("python3", python)):
        program = tmp_path / "bin" / name
        program.write_text(content)
        program.chmod(0o755)
    (tmp_path / "news.svm").write_text(NEWS)
    (tmp_path / "test.svm").write_text(HELD_OUT)
    (tmp_path / "new.svm").write_text(" 1:1\n 2:1\n")
    return tmp_path


@pytest.fixture
def shell(place) -> Callable[..., subprocess.CompletedProcess]:
    """Run a program there as in a plain environment, to its status; skips where it is not installed.

    Compiled kernels are where those of these tests are.
    """
    kept = {name: os.environ[name] for name in ("HOME", "NUMBA_CACHE_DIR") if name in os.environ}
    environment = kept | {"PATH": f"{place / 'bin'}:/usr/bin:/bin"}

    def run(*command: object, status: int = 0) -> subprocess.CompletedProcess:
        if shutil.which(command[0], path=environment["PATH"]) is None:
            pytest.skip(f"{command[0]} is not installed")
        done = subprocess.run(list(map(str, command)), cwd=place, env=environment, capture_output=True, text=True)
        assert done.returncode == status, done.stderr
        return done

    return run
