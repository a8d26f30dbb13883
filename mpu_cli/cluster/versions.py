"""Versions of the numerical packages. Processes with other versions may compute other numbers, so they are refused."""

import platform
from importlib.metadata import PackageNotFoundError, version

from mpu_cli.version import __version__

_PACKAGES = ("numpy", "scipy", "numba")


def versions() -> dict[str, str]:
    """Return the versions of this process; "none" of a package that is not installed."""
    installed = {"mpu": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            installed[package] = version(package)
        except PackageNotFoundError:
            installed[package] = "none"
    return installed


def difference(here: dict[str, str], there: dict[str, str]) -> str | None:
    """Describe how the versions of a worker (`there`) differ from those of this process; None if they do not."""
    differing = [f"{name} {there[name]} ({here[name]} here)" for name in here if there[name] != here[name]]
    return ", ".join(differing) or None
