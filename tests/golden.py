"""What messages say: tests/golden/messages.txt has the wording of all, by test; `pytest --update-golden` renews it.

Tests match the class of an error, and the place that it names (``file:line``).
"""

import fcntl
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILE = Path(__file__).parent / "golden" / "messages.txt"
# Directories of tests, ports, the root of the project, and measured numbers are not the same in every run.
_VARYING = (
    (re.compile(r"/[^\s'\"]*?/pytest-\d+/(popen-gw\d+/)?[^/\s:'\",;)]+/?"), ""),
    (re.compile(re.escape(f"{ROOT}/")), ""),
    (re.compile(r"127\.0\.0\.1:\d+"), "HOST"),
    (re.compile(r"\b\d+\.\d+\b"), "#.#"),
)

updating = False
_said: dict[str, set[str]] = defaultdict(set)


def _read() -> dict[str, list[str]]:
    text = FILE.read_text() if FILE.exists() else ""
    tests = (block.split("\n    ") for block in re.split(r"\n(?! )", text.strip("\n")))
    return {test: said for test, *said in tests if test}


_expected = _read()


def assert_worded(text: str) -> None:
    """Fail where a message is not one that the file has of this test, whatever its parameters."""
    test = os.environ["PYTEST_CURRENT_TEST"].removeprefix("tests/").rpartition(" (")[0].partition("[")[0]
    for pattern, instead in _VARYING:
        text = pattern.sub(instead, text)
    text = text.replace("\n", "\\n")
    if updating:
        _said[test].add(text)
    else:
        assert text in _expected.get(test, []), "--update-golden renews tests/golden/messages.txt"


@contextmanager
def refused(kind: type[BaseException], place: str = "") -> Iterator[pytest.ExceptionInfo]:
    """Expect an error of a class, whose message names a place and is worded as the file has it."""
    with pytest.raises(kind) as caught:
        yield caught
    assert place in str(caught.value)
    assert_worded(str(caught.value))


def renew(collected: Iterable[str]) -> None:
    """Write what tests said; drop what is of no test of these files any more."""
    tests = {test.removeprefix("tests/").partition("[")[0] for test in collected}
    files = {test.partition("::")[0] for test in tests}
    FILE.parent.mkdir(exist_ok=True)
    with FILE.with_name(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # each process of a run adds its own
        found = {
            test: {*said} for test, said in _read().items() if test in tests or test.partition("::")[0] not in files
        }
        for test, said in _said.items():
            found[test] = said | (found.get(test, set()) if "PYTEST_XDIST_WORKER" in os.environ else set())
        blocks = ("\n    ".join([test, *sorted(said)]) for test, said in sorted(found.items()))
        FILE.write_text("\n".join(blocks) + "\n")
