"""A disk without room, or with room for small files alone."""

import os
import resource
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def fill(folder: Path, room: int) -> None:
    """Leave no more than so many bytes on the file system of a directory."""
    with (folder / "filling").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, shutil.disk_usage(folder).free - room)


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Allow this process no larger files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)  # files that are cut short would be believed later
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
