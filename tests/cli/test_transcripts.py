r"""What commands say, word by word: tests/golden/refusals.txt and tests/golden/reports.txt.

Each paragraph of these files is a test. After its title, `NAME = "text"` makes a file in an empty directory, which also
has the data tiny.svm and their model tiny.mpu. `$ mpu COMMAND` runs there. Below it stand what it prints, behind a bar,
and what it writes to standard error, behind its exit status. No file is made or changed. Of a refusal, nothing is
printed. `pytest -n0 --update-golden` renews what commands say.
"""

import ast
import shlex
from pathlib import Path

import pytest

from tests import golden
from tests.folders import contents

FILES = {name: golden.FILE.with_name(f"{name}.txt") for name in ("refusals", "reports")}
PARAGRAPHS = [
    pytest.param(name, paragraph, id=paragraph.partition("\n")[0])
    for name, file in FILES.items()
    for paragraph in file.read_text().rstrip("\n").split("\n\n")
]


def said(run, command: str, is_refused: bool) -> list[str]:
    """Run a command; return what it says as the file has it."""
    words, _, stdin = command.partition(" < ")
    result = run(*shlex.split(words)[1:], stdin=Path(stdin).read_bytes() if stdin else b"")
    if is_refused:
        assert result.stdout == ""
        assert result.exit_code in (1, 2)
    errors = result.stderr.replace(f"{Path.cwd()}/", "").splitlines()
    return [f"| {line}".rstrip() for line in result.stdout.splitlines()] + [f"{result.exit_code} {e}" for e in errors]


@pytest.mark.parametrize(("name", "paragraph"), PARAGRAPHS)
def test_commands_say_this(run, tiny, tiny_model, monkeypatch, name, paragraph):
    monkeypatch.chdir(tiny.parent)
    monkeypatch.setattr("sys.dont_write_bytecode", True)  # Python caches own methods of an experiment
    files, *commands = paragraph.split("$ ")
    for line in files.splitlines()[1:]:
        path, _, literal = line.partition(" = ")
        content = ast.literal_eval(literal)
        Path(path).parent.mkdir(exist_ok=True)
        Path(path).write_bytes(content if isinstance(content, bytes) else content.encode())
    before, found = contents(Path()), files
    for command, *_ in map(str.splitlines, commands):
        found += "\n".join([f"$ {command}", *said(run, command, name == "refusals")]) + "\n"
        assert contents(Path()) == before, command
    if golden.updating:
        FILES[name].write_text(FILES[name].read_text().replace(paragraph, found.rstrip("\n")))
    else:
        assert found.splitlines() == paragraph.splitlines()
