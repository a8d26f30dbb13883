"""A copy of the package with a file more: what somebody has who adds a method or a loss."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import mpu_cli

# Of a copy, all kernels would have to be compiled.
NUMPY = ("--kernel", "numpy")


class Copy:
    """A folder that has the package with one more module, and small data."""

    def __init__(self, folder: Path, module: str, text: str) -> None:
        self.folder = folder
        shutil.copytree(Path(mpu_cli.__file__).parent, folder / "mpu_cli", ignore=shutil.ignore_patterns("*.nb?"))
        (folder / "mpu_cli" / module).write_text(text)
        (folder / "data.svm").write_text("1 1:1\n2 2:1\n1,2 1:1 2:1\n 3:1\n" * 5)

    def __call__(self, *arguments: str) -> str:
        """Run Python in the folder; return what it prints."""
        result = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(self.folder), "COLUMNS": "200"},
            capture_output=True,
            text=True,
        )
        assert result.returncode == 0, result.stderr
        return result.stdout
