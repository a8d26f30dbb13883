"""Versions of what computes. Processes that differ in them may give different numbers, so they do not work together."""

import platform
from importlib.metadata import PackageNotFoundError, version

from mpu_cli.version import __version__

_PACKAGES = ("numpy", "scipy", "numba")


def versions() -> dict[str, str]:
    """Return the versions of this process; "none" of a package that is not installed."""
    found = {"mpu": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "none"
    return found


def difference(here: dict[str, str], there: dict[str, str]) -> str | None:
    """Say in what a worker (`there`) differs from this process; None where it does not."""
    found = [f"{name} {there[name]} ({here[name]} here)" for name in here if there[name] != here[name]]
    return ", ".join(found) or None
