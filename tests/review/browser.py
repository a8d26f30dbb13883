"""A browser for tests: Debian's Chromium without a window. Where there is none, tests skip and say so."""

import shutil
from pathlib import Path

import pytest

# Nothing but pages from files, nothing in a directory that is not the test's own. With RenderDocument, Chromium 156
# shows a page from a file that is loaded again what was stored before the last change, until it is loaded once more.
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-features=RenderDocument",
    "--lang=en",
    "--window-size=1280,960",
)


def start(folder: Path):
    """Start a browser that keeps all it has in a folder; downloads go to ``folder/downloads``."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in (*_FLAGS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(flag)
    options.add_experimental_option("prefs", {"download.default_directory": str(folder / "downloads")})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    # Without UTF-8, Chromium calls a file "download" whose name has other letters than ASCII.
    env = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LC_ALL": "C.UTF-8"}
    service = webdriver.ChromeService(shutil.which("chromedriver"), env=env)
    return webdriver.Chrome(options=options, service=service)


def skip_where_there_is_none() -> None:
    pytest.importorskip("selenium", reason="no browser tests: selenium is not installed")
    for program in ("chromium", "chromedriver"):
        if shutil.which(program) is None:
            pytest.skip(f"no browser tests: {program} is not installed (Debian: chromium, chromium-driver)")
