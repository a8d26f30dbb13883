"""The commands of docs/guide/formats.md, which messages lead to, and those in the messages themselves."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from mpu_cli.errors import InputError
from mpu_cli.svmlight.reader import read

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "formats.md"
COMMANDS = dict(re.findall(r"^# (.*)\n(.*)", PAGE.read_text().partition("```sh")[2].partition("```")[0], re.MULTILINE))
DATA = b"1,2 1:0.5 2:2\n 1:0 2:3\n2 1:1 2:4\n"
ARFF = b"% news\n@RELATION news\n@attribute f numeric\n@attribute g numeric\n@attribute a {0,1}\n@attribute b {0,1}\n"
MEKA = b"@relation 'news: -C 2'\r\n" + b"@attribute x numeric\r\n" * 4
CSV = b'f,g,a,b\n0.5,2, "1",True\n0,3,0.0,"0"\r\n1,4,False,1\r\n'
TEXTS = b'{"text":"Goal \\"!\\"","tags":["sport","news"]}\n{"text":"nothing","tags":[]}\n'


def output_of(command: str, folder: Path) -> bytes:
    """What a command prints; skips where its program is not installed."""
    if shutil.which(command.split()[0]) is None:
        pytest.skip(f"no {command.split()[0]} here")
    return subprocess.run(["bash", "-c", command], cwd=folder, check=True, capture_output=True).stdout


@pytest.mark.parametrize(
    ("which", "files", "expected"),
    [
        ("ARFF", {"news.arff": ARFF + b"@data\n\n0.5,2,1,1\n0,3,0,0\n1, 4, 0, 1\n"}, DATA),
        ("ARFF", {"news.arff": ARFF + b"@data\r\n\r\n0.5,2,true,'yes'\r\n0,3,FALSE,no\r\n1,4,f,TRUE\r\n"}, DATA),
        ("ARFF", {"news.arff": ARFF + b"@DATA\n{0 0.5,1 2,2 1,3 1}\n{0 0,1 3}\n{0 1, 1 4, 3 1}\n"}, DATA),
        ("ARFF", {"news.arff": MEKA + b"@data\r\n1,1,0.5,2\r\n0,0,0,3\r\n0,1,1,4\r\n"}, DATA),
        ("a table of numbers below a heading", {"news.csv": CSV}, DATA),
        ("labels as vectors of 0 and 1", {"news.txt": b"1,1 1:0.5\n0,0\r\n0,1 1:1\r\n"}, b"1,2 1:0.5\n\n2 1:1\n"),
        ("labels with semicolons or bars between them", {"news.txt": b"1;2 1:0.5 2:2\n 1:0 2:3\n2 1:1 2:4\n"}, DATA),
        (
            "labels as words; their names go to news.labels",
            {"news.txt": b"sport,arts 1:0.5\n 1:3\n2:1\narts\r\narts 1:1 2:4\n"},
            b"1,2 1:0.5\n 1:3\n2:1\n2\n2 1:1 2:4\n",
        ),
        ("fastText, for mpu vectorize", {"news.txt": b'__label__sport __label__news Goal "!"\nnothing\n'}, TEXTS),
    ],
)
def test_a_command_of_the_page(tmp_path, which, files, expected):
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    output_of(COMMANDS[which], tmp_path)
    (made,) = [path for path in tmp_path.iterdir() if path.suffix in (".svm", ".jsonl")]
    assert made.read_bytes() == expected
    if "names" in which:
        assert (tmp_path / "news.labels").read_text() == "sport\narts\n"


@pytest.mark.parametrize("label", ["2", "", "nan", "11", "-1", "0.5"])
@pytest.mark.parametrize(
    ("which", "name", "head"),
    [
        ("ARFF", "news.arff", "@attribute f\n@attribute a\n@attribute b\n1,"),
        ("a table of numbers below a heading", "news.csv", "f,a,b\n1,"),
        ("labels as vectors of 0 and 1", "news.txt", ""),
    ],
)
def test_other_labels_than_0_and_1_are_not_converted(tmp_path, which, name, head, label):
    (tmp_path / name).write_text(f"{head}{label},1\n")
    with pytest.raises(subprocess.CalledProcessError) as caught:
        output_of(COMMANDS[which], tmp_path)
    assert caught.value.stderr.startswith(f"{len(head.splitlines()) or 1}: label".encode())


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"-1 1:0.5\n1 2:1\n", b" 1:0.5\n1 2:1\n"),
        (b"Data\n2, 1 1:0.5\n", b"2, 1 1:0.5\n"),
        (b"2 qid:3 1:0.5\n3 qid:4 2:1\n", b"2 1:0.5\n3 2:1\n"),
        (b"2,1 1:0.5\r3 2:1\r", b"2,1 1:0.5\n3 2:1\n"),
        (b"2,1 'a|n 1:0.5 |m 2:1\n| 2:1\n", b"2,1  1:0.5  2:1\n 2:1\n"),
        ("3 1:0.5\n".encode("utf-16"), b"3 1:0.5\n"),
    ],
)
def test_a_command_in_a_message(tmp_path, content, expected):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(InputError) as caught:
        read(tmp_path / "x")
    command = re.search(r"(sed (1d|(-E )?'[^']*')|tr '.*'|iconv .*)", caught.value.problem)[0]
    assert output_of(f"{command} < x", tmp_path) == expected
