"""What messages say: tests/golden/messages.txt has the wording of all, by test; `pytest --update-golden` renews it.

Tests match the class of an error, and the place that it names (``file:line``).
"""

import os
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILE = Path(__file__).parent / "golden" / "messages.txt"
# Directories, ports, processes, checksums and measured numbers are not the same in every run.
_VARYING = (
    (re.compile(r" \[mpu [^\]]*\](?=\n|$)"), ""),  # the command, which stands at the end of each line of a log
    (re.compile(r"/[^\s'\"]*?/pytest-\d+/(popen-gw\d+/)?[^/\s:'\",;)]+/?"), ""),
    (re.compile(re.escape(f"{ROOT}/")), ""),
    (re.compile(r"process \d+ on .* since [-\d: ]+ UTC"), "process N on HOST since TIME"),
    (re.compile(r"127\.0\.0\.1:\d+"), "HOST"),
    (re.compile(r"-[0-9a-f]{16}\."), "-CHECKSUM."),
    (re.compile(r"EOF: [^)]*"), "EOF"),  # of NumPy
    (re.compile(r"\b\d+\.\d+\b"), "#.#"),
)

updating = False
_said: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))


def _read() -> dict[str, list[str]]:
    text = FILE.read_text() if FILE.exists() else ""
    tests = (block.split("\n    ") for block in re.split(r"\n(?! )", text.strip("\n")))
    return {test: said for test, *said in tests if test}


_expected = _read()


def assert_worded(text: str) -> None:
    """Fail where a message is not one that the file has of this test, with these parameters or with any."""
    test, _, given = os.environ["PYTEST_CURRENT_TEST"].removeprefix("tests/").rpartition(" (")[0].partition("[")
    for pattern, instead in _VARYING:
        text = pattern.sub(instead, text)
    text, given = text.replace("\n", "\\n"), given[:60].removesuffix("]")
    if updating:
        _said[test][given].add(text)
    else:
        expected = {text, f"[{given}] {text}"} & set(_expected.get(test, []))
        assert expected, f"{FILE} has no such message of this test: {text} (--update-golden renews them)"


@contextmanager
def refused(kind: type[BaseException], place: str = "") -> Iterator[pytest.ExceptionInfo]:
    """Expect an error of a class, whose message names a place and is worded as the file has it."""
    with pytest.raises(kind) as caught:
        yield caught
    assert place in str(caught.value)
    assert_worded(str(caught.value))


def _is_there(test: str) -> bool:
    path, _, function = test.partition("::")
    return (FILE.parent.parent / path).exists() and f"def {function}(" in (FILE.parent.parent / path).read_text()


def renew() -> None:
    """Write what the tests that ran said; leave out tests that are no more."""
    found = {test: said for test, said in _read().items() if _is_there(test)}
    for test, by_parameters in _said.items():
        said = list(by_parameters.values())
        alike = all(of == said[0] for of in said)
        lines = said[0] if alike else {f"[{given}] {text}" for given, of in by_parameters.items() for text in of}
        found[test] = sorted(lines)
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text("".join("\n    ".join([test, *said]) + "\n" for test, said in sorted(found.items())))
