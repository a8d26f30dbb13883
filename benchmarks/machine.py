"""The machine and the software that a comparison runs on, in words."""

import os
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path

_PRINT_VERSIONS = """
import sys
from importlib.metadata import PackageNotFoundError, version
for package in sys.argv[1:]:
    try:
        print(package, version(package))
    except PackageNotFoundError:
        print(package, "not installed")
"""


def describe() -> str:
    """Processor, cores, memory, system, Python, and how busy the machine is now."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{_processor()}, {os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}, load average {os.getloadavg()[0]:.1f} at the start"
    )


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def versions(python: str, packages: Sequence[str]) -> str:
    """Versions of packages in the environment of a Python interpreter."""
    try:
        answer = subprocess.run([python, "-c", _PRINT_VERSIONS, *packages], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return f"{python} does not run"
    return ", ".join(answer.stdout.splitlines())
