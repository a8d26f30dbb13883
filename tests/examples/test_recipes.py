"""The recipes in examples/ do what is said of them."""

import json
import re
import shutil
import subprocess
import time

import pytest

from tests.conftest import ROOT
from tests.examples.conftest import EXAMPLES, NEWS

QUICK = "--levels 1 --c 0.9 --cost 30 --epochs 5"


@pytest.mark.slow  # the recipe is that of the README, which tests/test_recipes.py runs
@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_makes_exactly_what_must_be_made_again(shell, place):
    shutil.copy(EXAMPLES / "Makefile", place)

    def made() -> list[str]:
        result = shell("make", "--no-print-directory", "news.tags")
        assert (result.returncode, result.stderr) == (0, "")
        return [line.split()[1] for line in result.stdout.splitlines() if line.startswith("mpu ")]

    assert made() == ["train", "predict"]
    assert made() == []
    (place / "new.svm").write_text(" 2:1\n")
    assert made() == ["predict"]
    (place / "news.svm").write_text(NEWS + "3 3:1\n" * 5)
    assert made() == ["train", "predict"]
    (place / "news.svm").write_text("no data\n")
    tags = (place / "news.tags").read_bytes()
    assert shell("make", "news.tags").returncode == 2
    assert (place / "news.tags").read_bytes() == tags


def test_the_makefile_is_that_of_the_readme():
    recipe = [line for line in (EXAMPLES / "Makefile").read_text().splitlines() if not line.startswith("#")]
    indented = [line.removeprefix("    ") for line in (ROOT / "README.md").read_text().splitlines()]
    assert "\n".join(recipe) in "\n".join(indented)


@pytest.fixture
def nightly(shell, place):
    shutil.copy(EXAMPLES / "nightly.sh", place)
    mpu = (place / "bin" / "mpu").read_text()
    quick = f'case "$1" in train) shift; set -- train "$@" {QUICK};; esac\n'
    (place / "bin" / "mpu").write_text(mpu.replace("\n", f"\n{quick}", 1))

    def run(*arguments):
        time.sleep(1.1)  # the names of models have seconds
        return shell("./nightly.sh", "news", "test.svm", *arguments)

    return run


def models(place) -> list[str]:
    return sorted(path.name for path in place.glob("news-*T*.mpu"))


@pytest.mark.slow
def test_the_first_night_and_the_next_ones_keep_the_last_models(nightly, place, shell):
    for night in range(1, 4):
        result = nightly(2)
        assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
        assert len(models(place)) == min(night, 2)
        assert (place / "news.mpu").readlink().name == models(place)[-1]
    assert shell("mpu", "predict", "news.mpu", "new.svm").stdout == "1\n2\n"
    assert len((place / "news.history").read_text().splitlines()) == 3


@pytest.mark.slow
def test_a_worse_model_is_not_used(nightly, place):
    assert nightly().returncode == 0
    in_use = (place / "news.mpu").readlink()
    (place / "news.svm").write_text("2 1:1\n1 2:1\n" * 45)
    result = nightly()
    assert (result.returncode, result.stdout) == (3, "")
    assert result.stderr == f"{models(place)[-1]} is worse than {in_use}, which stays\n"
    assert (place / "news.mpu").readlink() == in_use


def test_a_failed_training_leaves_the_model_and_says_why(nightly, place):
    assert nightly().returncode == 0
    in_use = (place / "news.mpu").readlink()
    (place / "news.svm").write_text("no data\n")
    result = nightly()
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("error: news.svm:1: ")
    assert (place / "news.mpu").readlink() == in_use


def test_cron_mails_nothing_after_a_success_and_the_status_of_a_failure(nightly, place, shell):
    (line,) = [line for line in (EXAMPLES / "crontab").read_text().splitlines() if re.match(r"[\d*]", line)]
    minute, hour, *days, command = line.split(maxsplit=5)
    assert (minute, hour, days) == ("15", "2", ["*"] * 3)
    assert "%" not in command  # cron takes it for the end of the line
    command = command.replace("$HOME/news", str(place))
    assert shell("sh", "-c", command).stdout == ""
    (place / "news.svm").write_text("no data\n")
    assert shell("sh", "-c", command).stdout == "nightly.sh ended with status 1\n"


def units():
    return sorted((EXAMPLES / "systemd").iterdir())


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_takes_the_units(tmp_path):
    (tmp_path / "nightly.sh").write_text("#!/bin/sh\n")
    (tmp_path / "nightly.sh").chmod(0o755)
    for unit in units():
        (tmp_path / unit.name).write_text(unit.read_text().replace("/srv/news", str(tmp_path)))
    paths = [str(tmp_path / unit.name) for unit in units()]
    result = subprocess.run(["systemd-analyze", "verify", "--man=no", *paths], capture_output=True, text=True)
    assert [line for line in result.stderr.splitlines() if "mpu-" in line] == []
    calendar = re.search("OnCalendar=(.*)", (EXAMPLES / "systemd" / "mpu-nightly.timer").read_text())[1]
    assert subprocess.run(["systemd-analyze", "calendar", calendar], capture_output=True).returncode == 0


def test_the_units_name_each_other_and_the_statuses_of_the_script():
    text = {unit.name: unit.read_text() for unit in units()}
    assert set(text) == {"mpu-nightly.service", "mpu-nightly.timer", "mpu-alert@.service"}
    assert "OnFailure=mpu-alert@%n.service" in text["mpu-nightly.service"]
    assert "SuccessExitStatus=3 75\n" in text["mpu-nightly.service"]
    script = (EXAMPLES / "nightly.sh").read_text()
    assert "exit 3" in script and "75 another training is at work" in script


def test_the_container_file_names_what_is_there():
    lines = (EXAMPLES / "Containerfile").read_text().splitlines()
    steps = [line.split(maxsplit=1) for line in lines if line and line[0] not in "# "]
    known = {"FROM", "WORKDIR", "COPY", "RUN", "USER", "ENV", "HEALTHCHECK", "ENTRYPOINT", "CMD"}
    assert {name for name, _ in steps} <= known
    assert steps[0][0] == "FROM" and ":" in steps[0][1] and not steps[0][1].endswith(":latest")
    for name, rest in steps:
        if name == "COPY":
            assert all((ROOT / source).exists() for source in rest.split()[:-1])
        if name in ("ENTRYPOINT", "CMD"):
            assert isinstance(json.loads(rest), list)
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
