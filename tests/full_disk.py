"""A disk without room."""

import os
import shutil
from pathlib import Path


def fill(folder: Path, room: int) -> None:
    """Leave no more than so many bytes on the file system of a directory."""
    with (folder / "filling").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, shutil.disk_usage(folder).free - room)
