"""What is special to the compiled parser; that it parses as the others do is tested with them."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("numba")

READ = "import logging; logging.basicConfig(level='INFO', format='%(message)s'); "
READ += "from mpu_cli.svmlight.reader import read; from mpu_cli.runtime.run import Run; "
READ += "print(len(read({path!r}, run=Run(jobs=2, kernel={kernel!r}))))"


@pytest.mark.slow  # it compiles the parser
def test_compilation_is_announced_once(tmp_path):
    (tmp_path / "x").write_bytes(b"1 1:1\n" * 200_000)

    def read_in_a_new_process() -> tuple[str, str]:
        code = READ.format(path=str(tmp_path / "x"), kernel=None)
        environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        return done.stdout, done.stderr

    said = "compiling the fast kernels that are used for the first time (numba)...\n"
    assert read_in_a_new_process() == ("200000\n", said)
    assert read_in_a_new_process() == ("200000\n", "")
    assert len(list(tmp_path.rglob("*.nbc"))) == 1  # one signature


def test_numpy_users_need_no_numba(tmp_path):
    (tmp_path / "x").write_bytes(b"1 1:1\n")
    code = "import sys; " + READ.format(path=str(tmp_path / "x"), kernel="numpy")
    code += "; sys.exit('numba' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
