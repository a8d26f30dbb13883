"""The recipes in examples/ do what is said of them."""

import fcntl
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

    def run(*arguments, name="news", **variables):
        time.sleep(1.1)  # the names of models have seconds
        return shell("./nightly.sh", name, "test.svm", *arguments, **variables)

    return run


SHAM = """\
#!/bin/sh
# Trains without learning, and evaluates by the first word of the data.
case $1 in
train) grep -q . "$2" || exit 1; mkdir -p "$4"; cat "$2" > "$4/data"; echo "$2" >> trained ;;
evaluate) printf '{"compared": [{"differences": {"micro_f1": {"high": %s}}}]}' "$(cat "$4/data")" ;;
esac
"""


@pytest.fixture
def nights(shell, place):
    """Run many nights at once, each with what the data are worth: the difference to the present model."""
    shutil.copy(EXAMPLES / "nightly.sh", place)
    (place / "bin" / "mpu").write_text(SHAM)
    (place / "bin" / "date").write_text('#!/bin/sh\necho "20260101T00$(wc -l < trained | xargs printf %04d)"\n')
    (place / "bin" / "date").chmod(0o755)
    (place / "news.svm").unlink()

    def run(*worths, name="news", data=None, keep=2, **variables):
        results = []
        for worth in worths:
            (place / (data or f"{name}.svm")).write_text(f"{worth}\n")
            results.append(shell("./nightly.sh", name, "test.svm", keep, **variables))
        return [result.returncode for result in results], results[-1].stderr

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
def test_a_worse_model_is_not_used(nightly, place, shell):
    assert nightly().returncode == 0
    in_use = (place / "news.mpu").readlink()
    (place / "news.svm").write_text("2 1:1\n1 2:1\n" * 45)
    result = nightly()
    assert (result.returncode, result.stdout) == (3, "")
    assert result.stderr == f"news.candidate is worse than {in_use}, which stays\n"
    assert (place / "news.mpu").readlink() == in_use
    assert [str(in_use)] == models(place)
    assert shell("mpu", "info", "news.candidate").returncode == 0


@pytest.mark.slow
def test_a_failed_training_leaves_the_model_and_says_why(nightly, place):
    assert nightly().returncode == 0
    in_use = (place / "news.mpu").readlink()
    (place / "news.svm").write_text("no data\n")
    result = nightly()
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("error: news.svm:1: ")
    assert (place / "news.mpu").readlink() == in_use


def test_what_is_rejected_displaces_nothing(nights, place):
    """It was kept in place of those that were accepted."""
    assert nights(0, 0, 0) == ([0, 0, 0], "")
    good = models(place)
    assert len(good) == 2
    assert nights(-1, -1, -1)[0] == [3, 3, 3]
    assert models(place) == good
    assert (place / "news.mpu").readlink().name == good[-1]
    assert nights(0)[0] == [0]
    assert models(place)[0] == good[-1]
    assert (place / "news.accepted").read_text().split() == [name[5:-4] for name in models(place)]


def test_what_is_too_many_goes_after_a_rejection_too(nights, place):
    nights(0, 0, 0, keep=3)
    assert len(models(place)) == 3
    assert nights(-1, keep=1)[0] == [3]
    assert models(place) == [(place / "news.mpu").readlink().name]


def test_only_what_was_accepted_is_deleted(nights, place):
    """Not models of other names, nor what is not in the list, whatever stands there; nor the one in use."""
    others = ["news-weekly-20250101T000000.mpu", "news-20250101T000000.mpu", "news-T.mpu", "news-Thursday.mpu", "other"]
    for other in others:
        (place / other).mkdir()
        (place / other / "file").touch()
    (place / "news.accepted").write_text("weekly-20250101T000000\n../other\n/\n\n*\n")
    assert nights(0, 0, 0, keep=1) == ([0, 0, 0], "")
    assert all((place / other / "file").exists() for other in others)
    ours = sorted(set(models(place)) - set(others))
    assert ours == [(place / "news.mpu").readlink().name]
    nights(0, 0, keep=9)
    (place / "news.mpu").unlink()
    (place / "news.mpu").symlink_to(ours[0])  # somebody went back to an earlier one
    nights(-1, keep=1)
    assert (place / ours[0]).is_dir()
    assert ours[0][5:-4] in (place / "news.accepted").read_text()


@pytest.mark.parametrize("name", ["there/news", "a name", "a\nname", "-name", "*", "news-weekly"])
def test_any_name(nights, place, name):
    (place / "there").mkdir()
    (place / "name-20250101T000000.mpu").mkdir()
    assert nights(0, 0, 0, name=name, keep=1) == ([0, 0, 0], "")
    link = place / f"{name}.mpu"
    assert (link / "data").read_text() == "0\n"
    assert [path for path in place.rglob("*T*.mpu") if "2025" not in path.name] == [link.resolve()]
    assert (place / "name-20250101T000000.mpu").is_dir()


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz"])
def test_data_may_be_compressed(nights, place, suffix):
    assert nights(0, data=f"news.svm{suffix}") == ([0], "")
    assert (place / "trained").read_text() == f"news.svm{suffix}\n"


def test_one_at_a_time(nights, place):
    with (place / "news.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert nights(0, WAIT=0) == ([75], "another training of news is at work\n")
        assert not (place / "trained").exists()
        assert nights(0, name="other", WAIT=0) == ([0], "")
    assert nights(0, WAIT=0) == ([0], "")


def test_mpu_need_not_be_on_the_path_of_cron(nights, place):
    (place / ".local" / "bin").mkdir(parents=True)
    program = place / ".local" / "bin" / "mpu"
    (place / "bin" / "mpu").rename(program)
    assert nights(0, HOME=place) == ([0], "")
    program.rename(place / "elsewhere")
    assert nights(0, HOME=place, MPU=place / "elsewhere") == ([0], "")
    assert nights(0, HOME=place) == ([127], "there is no program mpu; say by the variable MPU where it is\n")


def test_what_fails_is_not_taken_for_worse(nights, place):
    """An evaluation that failed had the status of a model that is worse."""
    nights(0)
    in_use = (place / "news.mpu").readlink()
    assert nights("no number")[0] == [1]
    assert (place / "news.mpu").readlink() == in_use
    (place / "model.mpu").mkdir()
    status, message = nights(0, name="model")
    assert (status, message) == ([1], "model.mpu is no link; move it away\n")
    assert nights(0, keep="-1")[0] == [2]


@pytest.mark.slow
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
