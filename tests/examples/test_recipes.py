"""The recipes in examples/ do what is said of them."""

import gzip
import json
import os
import re
import shlex
import shutil
import subprocess

import pytest

from tests.conftest import ROOT
from tests.examples.conftest import EXAMPLES, HELD_OUT, NEWS

QUICK = "--levels 1 --c 0.9 --cost 30 --epochs 5"


@pytest.mark.slow
def test_make_goes_on_with_the_present_model_where_the_new_one_is_worse(shell, place):
    shutil.copy(EXAMPLES / "Makefile.nightly", place)
    (place / "test.svm").write_text("".join(f"{line} {i}:0.1\n" for i, line in enumerate(HELD_OUT.splitlines(), 3)))

    def made() -> list[str]:
        result = shell("make", "--no-print-directory", "-f", "Makefile.nightly", "news.tags")
        return [line for line in result.stdout.splitlines() if line.startswith("mpu train")]

    assert (len(made()), made()) == (1, [])
    model, tags = (place / "news.mpu" / "manifest.json").read_bytes(), (place / "news.tags").read_bytes()
    (place / "news.svm").write_text("2 1:1\n1 2:1\n" * 45)  # which is wrong
    (place / "new.svm").write_text(" 2:1\n")
    assert (len(made()), (place / "news.mpu" / "manifest.json").read_bytes()) == (1, model)
    assert (place / "news.tags").read_bytes() != tags
    assert made() == []  # it is not trained again


def test_the_makefile_is_that_of_the_guide():
    recipe = [line for line in (EXAMPLES / "Makefile").read_text().splitlines() if not line.startswith("#")]
    page = (ROOT / "docs" / "guide" / "engineer.md").read_text()
    indented = [line.removeprefix("    ") for line in page.splitlines()]
    assert "\n".join(recipe) in "\n".join(indented)


@pytest.fixture
def news(tmp_path, mpu_program):
    """A tree with a blank in its name, with data of two nights: a good one, and a bad one."""
    folder = tmp_path / "the news"
    (folder / ".venv" / "bin").mkdir(parents=True)
    for name, text in (("news", NEWS), ("test", HELD_OUT), ("bad", "2 1:1\n1 2:1\n" * 45)):
        lines = (f"{line} {i}:0.1\n" for i, line in enumerate(text.splitlines(), 3))  # no two are the same
        (folder / f"{name}.svm.gz").write_bytes(gzip.compress("".join(lines).encode()))
    program = folder / ".venv" / "bin" / "mpu"
    program.write_text(mpu_program.replace('"$@"', f'"$@" {QUICK}'))
    program.chmod(0o755)
    return folder


def moved(recipe: str, folder) -> str:
    return (EXAMPLES / recipe).read_text().replace("/srv/news", str(folder))


def cron_job(folder) -> tuple[str, dict[str, str]]:
    """The command of the crontab, and the variables that it sets."""
    lines = [line for line in moved("crontab", folder).splitlines() if line and line[0] != "#"]
    *settings, job = lines
    minute, hour, *days, command = job.split(maxsplit=5)
    assert (minute, hour, days) == ("15", "2", ["*"] * 3)
    assert "%" not in command  # cron takes it for the end of the line
    return command, dict(line.split("=", 1) for line in settings)


def service(folder) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in re.findall(r"^([^#].*?)=(.*)", moved("systemd/mpu-nightly.service", folder), re.MULTILINE):
        found.setdefault(name, []).append(value)
    return found


def trained(words: list[str]) -> list[str]:
    return words[words.index("mpu") + 1 :]


@pytest.mark.parametrize("recipe", ["crontab", "systemd"])
def test_a_night_uses_the_new_model_unless_it_is_worse(run, news, monkeypatch, recipe):
    monkeypatch.chdir(news)
    words = cron_job(news)[0] if recipe == "crontab" else service(news)["ExecStart"][0]
    night = (*trained(shlex.split(words)), *QUICK.split())
    result = run(*night)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    (news / "bad.svm.gz").replace(news / "news.svm.gz")
    result = run(*night)
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.startswith("error: news.mpu stays: the present one is ahead of the new model by ")
    assert run("predict", "news.mpu", "test.svm.gz").stdout.startswith("1,2\n2\n1\n")
    assert not (news / "news.mpu.1").exists()


@pytest.mark.slow  # a process each
def test_cron_mails_nothing_after_a_success_and_one_line_after_a_failure(news):
    command, variables = cron_job(news)
    environment = {"HOME": os.environ.get("HOME", "/"), **variables}

    def night() -> str:
        done = subprocess.run(["/bin/sh", "-c", command], cwd="/", env=environment, capture_output=True, text=True)
        return done.stdout + done.stderr

    assert night() == ""
    (news / "bad.svm.gz").replace(news / "news.svm.gz")
    assert night().count("\n") == 1
    (news / "news.svm.gz").write_text("no data\n")
    assert night().startswith("error: news.svm.gz")


@pytest.mark.slow  # a process each
def test_the_service_runs_where_its_unit_says(news):
    unit = service(news)
    variables = dict(pair.split("=", 1) for line in unit["Environment"] for pair in shlex.split(line))
    variables["HOME"] = os.environ.get("HOME", "/")
    assert variables.pop("NUMBA_CACHE_DIR") == "/var/cache/mpu"  # here, it would compile all

    def night() -> int:
        command = shlex.split(unit["ExecStart"][0])
        return subprocess.run(command, cwd=unit["WorkingDirectory"][0], env=variables, capture_output=True).returncode

    assert night() == 0
    (news / "bad.svm.gz").replace(news / "news.svm.gz")
    assert night() == 3
    assert (unit["SuccessExitStatus"], unit["User"]) == (["3 75"], ["news"])


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_takes_the_units(tmp_path):
    paths = [tmp_path / unit.name for unit in (EXAMPLES / "systemd").iterdir()]
    for path in paths:
        path.write_text(moved(f"systemd/{path.name}", tmp_path))
    result = subprocess.run(["systemd-analyze", "verify", "--man=no", *paths], capture_output=True, text=True)
    assert [line for line in result.stderr.splitlines() if "mpu-" in line] == []
    calendar = re.search("OnCalendar=(.*)", (EXAMPLES / "systemd" / "mpu-nightly.timer").read_text())[1]
    assert subprocess.run(["systemd-analyze", "calendar", calendar], capture_output=True).returncode == 0


def test_the_command_of_the_unit_that_serves_is_one(run):
    (line,) = [line for line in moved("systemd/mpu-serve.service", "").splitlines() if line.startswith("ExecStart=")]
    assert "there is no such model" in run(*trained(shlex.split(line))).stderr


def test_the_container_file_names_what_is_there():
    """Hadolint looks at the rest: `make lint`."""
    lines = (EXAMPLES / "Containerfile").read_text().splitlines()
    steps = [line.split(maxsplit=1) for line in lines if line and line[0] not in "# "]
    for name, rest in steps:
        if name == "COPY":
            assert all((ROOT / source).exists() for source in rest.split()[:-1])
        if name in ("ENTRYPOINT", "CMD", "HEALTHCHECK"):
            assert isinstance(json.loads(rest.removeprefix("CMD ")), list)
    assert [name for name, _ in steps].index("USER") < [name for name, _ in steps].index("ENTRYPOINT")
    (installed,) = [rest for name, rest in steps if name == "RUN"]
    extras = re.search(r"\[([a-z,]+)\]", installed)[1].split(",")
    declared = (ROOT / "pyproject.toml").read_text()
    assert all(re.search(rf"^{extra} = \[", declared, re.MULTILINE) for extra in extras)


@pytest.mark.parametrize("script", [path.name for path in sorted(EXAMPLES.glob("*.sh"))])
def test_scripts_are_programs_of_a_plain_shell(script):
    path = EXAMPLES / script
    assert path.stat().st_mode & 0o111
    assert path.read_text().startswith("#!/bin/sh\n")
    assert subprocess.run(["sh", "-n", path]).returncode == 0
