"""The examples in docstrings and in the documentation give what they say."""

import doctest
import importlib
import re

import pytest

from tests.conftest import ROOT
from tests.slow import slow

MODULES = [path for path in sorted((ROOT / "mpu_cli").rglob("*.py")) if ">>> " in path.read_text()]
LONG = [ROOT / "mpu_cli" / "api" / "analysis.py"]  # it chooses options of dense data
PAGES = [path for path in sorted((ROOT / "docs").rglob("*.md")) if ">>> " in path.read_text()]


def name(path) -> str:
    return str(path.relative_to(ROOT))


def test_there_are_examples():
    assert MODULES
    assert PAGES


@pytest.mark.parametrize("path", [*(path for path in MODULES if path not in LONG), *slow(*LONG)], ids=name)
def test_examples_of_a_module(path):
    module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    failed, attempted = doctest.testmod(module)
    assert attempted
    assert not failed


@pytest.mark.slow  # most choose options of dense data
@pytest.mark.parametrize("path", [ROOT / "README.md", *PAGES], ids=name)
def test_examples_of_a_page(path):
    text = re.sub("^```.*", "", path.read_text(), flags=re.MULTILINE)  # the end of a block is not what Python prints
    examples = doctest.DocTestParser().get_doctest(text, {}, path.name, str(path), 0)
    assert examples.examples
    assert not doctest.DocTestRunner().run(examples).failed
