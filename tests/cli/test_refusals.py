r"""What commands refuse, and in which words: tests/golden/refusals.txt.

Each paragraph of that file is a test. After its title, `NAME = "text"` makes a file in an empty directory, which also
has the data tiny.svm and their model tiny.mpu. `$ mpu COMMAND` runs there, and the lines below it are the exit status
and all that it writes to standard error. Nothing is on standard output, and no file is made or changed.
`pytest -n0 --update-golden` renews what commands say.
"""

import ast
import shlex
from pathlib import Path

import pytest

from tests import golden
from tests.endurance.commands import contents

FILE = golden.FILE.with_name("refusals.txt")
PARAGRAPHS = dict(paragraph.split("\n", 1) for paragraph in FILE.read_text().strip("\n").split("\n\n"))


def said(run, command: str) -> list[str]:
    """Run a command; return its exit status and its messages, a line each, as the file has them."""
    words, _, stdin = command.partition(" < ")
    result = run(*shlex.split(words)[1:], stdin=Path(stdin).read_bytes() if stdin else b"")
    assert result.stdout == ""
    assert result.exit_code in (1, 2)
    return [f"{result.exit_code} {line}" for line in result.stderr.replace(f"{Path.cwd()}/", "").splitlines()]


@pytest.mark.parametrize("title", PARAGRAPHS)
def test_it_is_refused_in_these_words(run, tiny, tiny_model, monkeypatch, title):
    monkeypatch.chdir(tiny.parent)
    files, *commands = PARAGRAPHS[title].partition("$ ")[0], *PARAGRAPHS[title].split("$ ")[1:]
    for line in files.splitlines():
        name, _, text = line.partition(" = ")
        content = ast.literal_eval(text)
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    before, found = contents(Path()), files
    for command, *_ in map(str.splitlines, commands):
        found += "\n".join([f"$ {command}", *said(run, command)]) + "\n"
        assert contents(Path()) == before, command
    if golden.updating:
        FILE.write_text(FILE.read_text().replace(f"{title}\n{PARAGRAPHS[title]}", f"{title}\n{found}".rstrip("\n")))
    else:
        assert found.splitlines() == PARAGRAPHS[title].splitlines()
