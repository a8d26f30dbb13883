"""A page for reviewing, open in a browser."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

DATA = "1,3 1:0.5 2:-2\n2 1:1\n 2:1\n3 3:1\n"
NAMES = "sports\nmusic\nthe arts\nBücher\n"
TEXTS = "Of football.\nOf songs.\nOf nothing.\nOf paintings.\n"
SUGGESTIONS = """instance\tlabel\tprobability\tverdict\tsource
1\t2\t0.8125\t\tsuggestion
1\t4\t0.25\t\tsuggestion
4\t1\t0.5\t\tsuggestion
2\t3\t0.125\t\tsuggestion
"""


# Nothing but pages from files, nothing in a directory that is not the test's own. With RenderDocument, Chromium 156
# shows a page from a file that is loaded again what was stored before the last change, until it is loaded once more.
FLAGS = (
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


@dataclass
class Page:
    """What a person does on a page, and sees."""

    driver: object
    path: Path
    downloads: Path

    def open(self) -> None:
        """Open the page, or load it again: in the same process, so that what it has just stored is there."""
        if self.driver.current_url == self.path.as_uri():
            self.driver.refresh()
        else:
            self.driver.get(self.path.as_uri())

    def press(self, *keys: str) -> None:
        from selenium.webdriver import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    def click(self, selector: str) -> None:
        self.find(selector).click()

    def find(self, selector: str):
        return self.driver.find_element("css selector", selector)

    def find_all(self, selector: str) -> list:
        return self.driver.find_elements("css selector", selector)

    def text(self, selector: str) -> str:
        return self.find(selector).text

    def rows(self, kind: str) -> dict[str, str]:
        """The labels of a section, by name, with what is said of each."""
        rows = self.find_all(f"#{kind} .row")
        return {row.text.split("\n")[0]: row.get_attribute("aria-label").rpartition(", ")[2] for row in rows}

    def run(self, script: str):
        return self.driver.execute_script(script)

    def wait(self, condition):
        from selenium.webdriver.support.wait import WebDriverWait

        return WebDriverWait(self.driver, 10, poll_frequency=0.02).until(lambda _: condition())

    def export(self, reviewer: str = "") -> Path:
        """Press Export, and say who decides where that is asked; give the file, when it is whole."""
        for path in self.downloads.glob("checked*"):
            path.unlink()
        self.click("#export")
        if self.run("return document.getElementById('who').open"):
            self.find("#reviewer").send_keys(reviewer)
            self.click("#who-export")
        self.wait(lambda: [path for path in self.downloads.glob("checked*.tsv") if path.stat().st_size])
        [path] = self.downloads.glob("checked*.tsv")
        return path

    def import_file(self, path: Path) -> str:
        """Choose a file to import; give what the page says."""
        self.run("document.getElementById('notice').hidden = true")
        self.find("#import-file").send_keys(str(path))
        self.wait(lambda: self.text("#notice"))
        return self.text("#notice")

    def messages(self) -> list[str]:
        """What the browser has complained about since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """What has been asked of the network since the last call."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
        return [one["request"]["url"] for one in sent if one["request"]["url"].startswith(("http", "ws"))]


@pytest.fixture
def screen(chromium):
    """Give the page another screen until the end of the test: of so many pixels, perhaps a phone's, or dark."""
    driver, _ = chromium

    def size(width: int, height: int = 800, scale: int = 1, mobile: bool = False) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": mobile}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def scheme(name: str) -> None:
        media = {"features": [{"name": "prefers-color-scheme", "value": name}]}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)

    yield SimpleNamespace(size=size, scheme=scheme)
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.fixture(scope="package")
def chromium(tmp_path_factory):
    """Debian's Chromium and where it puts downloads; it ends as soon as no test wants it, since it is never idle."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="no browser tests: selenium is not installed")
    for program in ("chromium", "chromedriver"):
        if shutil.which(program) is None:
            pytest.skip(f"no browser tests: {program} is not installed (Debian: chromium, chromium-driver)")
    folder = tmp_path_factory.mktemp("chromium")
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in (*FLAGS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(flag)
    options.add_experimental_option("prefs", {"download.default_directory": str(folder / "downloads")})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    # Without UTF-8, Chromium calls a file "download" whose name has other letters than ASCII.
    env = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LC_ALL": "C.UTF-8"}
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver"), env=env))
    yield driver, folder / "downloads"
    driver.quit()


@pytest.fixture
def news(tmp_path):
    for name, text in {"news.svm": DATA, "tags": NAMES, "texts": TEXTS, "missing.tsv": SUGGESTIONS}.items():
        (tmp_path / name).write_text(text)
    return tmp_path / "news.svm"


@pytest.fixture
def open_page(run, chromium, tmp_path):
    """Make a page by ``mpu review`` with these arguments, and open it."""

    def opened(*arguments) -> Page:
        path = tmp_path / "review.html"
        run.ok("review", *arguments, "-o", path)
        driver, downloads = chromium
        page = Page(driver, path, downloads)
        page.messages(), page.requests()
        page.run("location.protocol === 'file:' && localStorage.clear()")  # of the page before, and of all from files
        page.open()
        return page

    return opened


@pytest.fixture
def page(open_page, news, tmp_path):
    """A page of suggestions: instances 1 (music, Bücher), 4 (sports) and 2 (the arts)."""
    given = "--suggestions", tmp_path / "missing.tsv", "--text", tmp_path / "texts", "--labels", tmp_path / "tags"
    return open_page(news, *given)
