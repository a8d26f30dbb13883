"""What is special to the compiled parser; that it parses as the others do is tested with them."""

import subprocess
import sys

import pytest

pytest.importorskip("numba")

READ = "import logging; logging.basicConfig(level='INFO', format='%(message)s'); "
READ += "from mpu_cli.svmlight.reader import read; from mpu_cli.runtime.run import Run; "
READ += "print(len(read({path!r}, run=Run(jobs=2, kernel={kernel!r}))))"


def test_numpy_users_need_no_numba(tmp_path):
    (tmp_path / "x").write_bytes(b"1 1:1\n")
    code = "import sys; " + READ.format(path=str(tmp_path / "x"), kernel="numpy")
    code += "; sys.exit('numba' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
