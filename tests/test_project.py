"""The lock file, scripts and links of the project are in order."""

import os
import re
import tomllib

import pytest

from tests.conftest import ROOT


def name(requirement: str) -> str:
    return re.match(r"[\w-]+", requirement).group()


def test_the_lock_file_has_all_that_is_declared_and_no_place_to_fetch_it_from():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    declared = {
        name(requirement) for extra in ("test", "fast", "lint", "docs", "dist") for requirement in extras[extra]
    }
    text = (ROOT / "requirements-dev.txt").read_text()
    lines = [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.!+]+( ;.*)?", line) for line in lines)
    assert declared - {"mpu-cli"} <= {name(line) for line in lines}


@pytest.mark.parametrize("script", [*ROOT.glob(".ci/*"), ROOT / "data" / "demo.sh"], ids=lambda script: script.name)
def test_scripts_can_be_run(script):
    assert os.access(script, os.X_OK)


def test_sections_of_the_documentation_that_the_code_names_are_there():
    for module in (ROOT / "mpu_cli").rglob("*.py"):
        for page, section in re.findall(r'(docs/[\w/-]+\.md), "([^"]+)"', module.read_text()):
            assert re.search(rf"^#+ {re.escape(section)}$", (ROOT / page).read_text(), re.MULTILINE), module
