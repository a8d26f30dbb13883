"""The machine code of the compiled kernels: where it is kept, and that a cache that fails costs time only."""

import ctypes
import os
import resource
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

import mpu_cli
from tests.slow import slow

pytest.importorskip("numba")

# A function that compiles soon: the parser takes some seconds.
FUNCTION = """
@compiled()
def {name}(number):
    return 2 * number
"""
# Prints results of some, and how often the machine code of each came from the cache; logs what is said of it.
CALL = """if True:
    import logging
    logging.getLogger("mpu_cli").setLevel(logging.DEBUG)
    logging.getLogger("mpu_cli").addHandler(logging.StreamHandler())
    from mpu_cli import small
    for function in map(vars(small).get, {names}):
        print(function(21), sum(function.stats.cache_hits.values()))
"""
ONCE = "compiling the fast kernels that are used for the first time (numba)..."
DAMAGE = {
    "empty": lambda data: b"",
    "cut_short": lambda data: data[: len(data) // 2],
    "garbage": lambda data: b"\x80\x05garbage" * 100,
}
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1
libc = ctypes.CDLL(None)
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="prctl is Linux's")


@pytest.fixture
def folder(tmp_path):
    """A directory with a home, and an installation of its own that has a function for each damage, and `double`."""
    made_by_python = shutil.ignore_patterns("__pycache__", "*.nb?")
    shutil.copytree(Path(mpu_cli.__file__).parent, tmp_path / "mpu_cli", ignore=made_by_python)
    functions = [FUNCTION.format(name=name) for name in ("double", *DAMAGE)]
    text = "from mpu_cli.runtime.compilation import compiled\n" + "".join(functions)
    (tmp_path / "mpu_cli" / "small.py").write_text(text)
    (tmp_path / "home").mkdir()
    return tmp_path


@pytest.fixture
def read_only(folder):
    """Let nobody write into the installation."""
    folders = [folder / "mpu_cli", *(path for path in (folder / "mpu_cli").rglob("*") if path.is_dir())]
    for path in folders:
        path.chmod(0o555)
    try:
        if python(folder, "import os; print(os.access('mpu_cli', os.W_OK))")[0] != "False":
            pytest.skip("permissions do not bind this user")
        yield
    finally:
        for path in folders:
            path.chmod(0o755)


def python(folder: Path, code: str, limit=lambda: None, **variables: str) -> tuple[str, list[str]]:
    """Run Python with the package that is in a folder; return the output, and the lines on standard error."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "XDG_"))}
    environment |= {"PYTHONPATH": str(folder), "HOME": str(folder / "home"), **variables}

    def prepare() -> None:
        libc.prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)  # root may write anywhere otherwise
        limit()

    how = {"capture_output": True, "text": True, "preexec_fn": prepare}
    done = subprocess.run([sys.executable, "-P", "-c", code], env=environment, cwd=folder, **how)
    assert done.returncode == 0, done.stderr
    return done.stdout.removesuffix("\n"), done.stderr.splitlines()


def call(folder: Path, names: tuple[str, ...] = ("double",), **how) -> tuple[str, list[str]]:
    """Call small functions; return results and numbers of hits, and what was said of the machine code."""
    return python(folder, CALL.format(names=names), **how)


def says_how_to_keep(lines: list[str], reason: str) -> bool:
    """Whether one line says why kernels are not kept, and how to keep them."""
    advice = [line for line in lines if reason in line and "set NUMBA_CACHE_DIR" in line]
    return len(advice) == 1 and {*lines} <= {ONCE, *advice}


@linux
@pytest.mark.slow  # two processes
@pytest.mark.usefixtures("read_only")
def test_it_is_in_the_user_s_cache_directory_where_the_package_is_read_only(folder):
    before = sorted((folder / "mpu_cli").rglob("*"))
    assert [call(folder) for _ in range(2)] == [("42 0", [ONCE]), ("42 1", [])]
    assert sorted((folder / "mpu_cli").rglob("*")) == before
    assert list((folder / "home").rglob("small.double-*.nbi"))


@linux
@pytest.mark.usefixtures("read_only")
def test_without_a_home_nothing_is_made_where_the_command_runs(folder):
    before = sorted(folder.iterdir())
    _, lines = call(folder, HOME="~")  # what an unknown account's is taken for
    assert says_how_to_keep(lines, "no writable directory")
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("suffix", slow(".nbi", ".nbc"))
def test_damaged_files_are_replaced(folder, suffix):
    """A function for each damage, so that three processes do for all."""

    def outcome() -> tuple[dict[str, str], list[str]]:
        output, lines = call(folder, names=tuple(DAMAGE))
        return dict(zip(DAMAGE, output.splitlines(), strict=True)), lines

    compiled, kept = dict.fromkeys(DAMAGE, "42 0"), dict.fromkeys(DAMAGE, "42 1")
    assert outcome() == (compiled, [ONCE])
    for name, damage in DAMAGE.items():
        (path,) = folder.rglob(f"small.{name}-*{suffix}")
        path.write_bytes(damage(path.read_bytes()))
    assert [outcome() for _ in range(2)] == [(compiled, [ONCE]), (kept, [])]


@pytest.mark.slow  # each process compiles a function, or loads it
def test_no_room(folder):
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (1024, 1024))
    # Python itself leaves bytecode that is cut short where files may not be that large.
    _, lines = call(folder, limit=limit, PYTHONDONTWRITEBYTECODE="1")
    assert says_how_to_keep(lines, "File too large")
    assert [call(folder)[1] for _ in range(2)] == [[ONCE], []]
