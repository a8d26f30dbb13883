"""What the targets share."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import atheris


def instrumented():
    """Trace the modules of mpu that are imported in the ``with`` block."""
    return atheris.instrument_imports(include=["mpu_cli"])


def fuzz(target: Callable[[bytes], None]) -> None:
    """Call a target with ever new inputs, as the options on the command line (those of libFuzzer) say.

    Files are read in this thread: new ones for every input would cost more time than the input does.
    """

    def map_here(function: Callable, pieces: Iterable, jobs: int) -> Iterable:
        return map(function, pieces)

    atheris.Setup(sys.argv, target)
    with patch("mpu_cli.svmlight.reader.map_ahead", map_here):
        atheris.Fuzz()


@contextmanager
def folder() -> Iterator[Path]:
    """Give a directory for the files of an input, in memory where the system has a place for that."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as path:
        yield Path(path)
