"""Where the machine code of the compiled kernels is kept."""

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mpu_cli

pytest.importorskip("numba")

# One kernel, from another installation than that of the tests; prints how often its machine code came from the cache.
CODE = """if True:
    import numpy as np
    from scipy.sparse import csr_array
    from mpu_cli.core.features import Features
    from mpu_cli.core.kernels import numba_kernel

    features = Features(csr_array(np.ones((2, 2), np.float32)), np.empty((2, 0), np.float32))
    assert (numba_kernel.scores(features, np.ones((2, 3), np.float32)) == 2).all()
    print(sum(numba_kernel._add_sparse_product.stats.cache_hits.values()))
"""
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1
libc = ctypes.CDLL(None)


def obey_permissions() -> None:
    """Take from root the right to write where permissions forbid it; others do not have it."""
    libc.prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)


def run(code: str, folder: Path) -> str:
    """Run Python with the package that is in a folder."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    environment |= {"PYTHONPATH": str(folder), "HOME": str(folder / "home"), "XDG_CACHE_HOME": str(folder / "home")}
    command = [sys.executable, "-P", "-c", code]
    return subprocess.run(
        command, env=environment, cwd=folder, preexec_fn=obey_permissions, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="prctl is Linux's")
def test_it_is_in_the_user_s_cache_directory_where_the_package_is_read_only(tmp_path):
    package = tmp_path / "mpu_cli"
    shutil.copytree(Path(mpu_cli.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "home").mkdir()
    before = sorted(package.rglob("*"))
    folders = [package, *(path for path in before if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        if run(f"import os; print(os.access({str(package)!r}, os.W_OK))", tmp_path) != "False\n":
            pytest.skip("permissions do not bind this user")
        assert [run(CODE, tmp_path) for _ in range(2)] == ["0\n", "1\n"]
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert sorted(package.rglob("*")) == before
    assert list((tmp_path / "home").rglob("numba_kernel._add_sparse_product-*.nbi"))
