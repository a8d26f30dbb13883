"""What the project promises about itself: what it installs, and what `make` offers."""

import os
import re
import shutil
import subprocess
import tomllib

import pytest

from tests.conftest import ROOT

# Of the site; the changelog is included from elsewhere, and what is built is no source.
PAGES = [
    page for page in sorted((ROOT / "docs").rglob("*.md")) if page.name != "changelog.md" and "_build" not in page.parts
]


def make(*args: str) -> str:
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    # A `make` around these tests must not hand its flags on.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(
        ["make", "--no-print-directory", *args], cwd=ROOT, env=environment, check=True, capture_output=True, text=True
    ).stdout


def name(requirement: str) -> str:
    return re.match(r"[\w-]+", requirement).group()


def test_installs_these_packages_and_nothing_else():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {name(requirement) for requirement in project["dependencies"]} == {
        "click",
        "jinja2",
        "joblib",
        "numpy",
        "scikit-learn",
        "scipy",
        "snowballstemmer",
        "threadpoolctl",
    }
    assert project["requires-python"] == ">=3.11"


def test_make_lists_its_targets():
    (targets,) = re.findall(r"^\.PHONY: (.*)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert [line.split()[1] for line in make().splitlines()] == targets.split()


def test_make_test_leaves_out_slow_tests_and_examples_and_test_all_does_not():
    assert make("-n", "test").splitlines()[-1].endswith(" -m 'not slow' --hypothesis-profile quick")
    assert make("-n", "test-all").splitlines()[-1].endswith(" --dist worksteal")


def test_the_lock_file_has_all_that_is_declared_and_no_place_to_fetch_it_from():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    declared = {
        name(requirement) for extra in ("test", "fast", "lint", "docs", "dist") for requirement in extras[extra]
    }
    text = (ROOT / "requirements-dev.txt").read_text()
    lines = [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.!+]+( ;.*)?", line) for line in lines)
    assert declared - {"mpu-cli"} <= {name(line) for line in lines}


def test_the_changelog_has_dates():
    headings = re.findall("^## (.*)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ \((\d{4}-\d\d-\d\d|unreleased)\)", heading) for heading in headings)


@pytest.mark.parametrize("target, size", [("rcv1", "full"), ("rcv1-small", "small")])
def test_make_fetches_the_right_set(target, size):
    assert make("-n", target).splitlines()[-1].endswith(f"data/fetch_rcv1.py {size}")


@pytest.mark.parametrize("script", [*ROOT.glob(".ci/*"), ROOT / "data" / "demo.sh"], ids=lambda script: script.name)
def test_scripts_can_be_run(script):
    assert os.access(script, os.X_OK)


def test_core_names_no_option_of_the_command_line():
    files = (ROOT / "mpu_cli" / "core").rglob("*.py")
    assert [(file.name, option) for file in files for option in re.findall(r"--[a-z]+", file.read_text())] == []


def test_sections_of_the_documentation_that_the_code_names_are_there():
    for module in (ROOT / "mpu_cli").rglob("*.py"):
        for page, section in re.findall(r'(docs/[\w/-]+\.md), "([^"]+)"', module.read_text()):
            assert re.search(rf"^#+ {re.escape(section)}$", (ROOT / page).read_text(), re.MULTILINE), module


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT / "docs")))
def test_each_page_says_first_whom_it_is_for(page):
    assert re.match(r"# .+\n\nFor those ", page.read_text())
