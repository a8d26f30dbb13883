"""`mpu train --accept-on`: the model is replaced by one that is not worse, and those before are kept."""

import errno
import gzip
import json
import os
import re
import shutil
import signal
from pathlib import Path
from unittest.mock import Mock

import pytest

from mpu_cli.cli.commands import mpu
from mpu_cli.cli.options import KS, METRICS
from mpu_cli.evaluation.compare import SAMPLES_F1
from mpu_cli.evaluation.metrics import GAINS, SET_METRICS, at_cutoffs
from tests.cli.training import ALONE, message
from tests.folders import contents, model_files
from tests.forked import PROCESSES
from tests.slow import slow

FEATURES = 20
TRAINING = ("--c", 0.9, "--cost", 30, "--epochs", 5, "--levels", 1)


def instances(wrong: int, times: int) -> str:
    """Instances with one feature each, which tells their label: of so many features, the wrong one."""
    lines = (f"{(feature + (feature < wrong)) % 2 + 1} {feature}:1\n" for feature in range(FEATURES))
    return "".join(lines) * times


def held_out(times: int) -> str:
    """Instances of which the features tell the labels, in another order than those that are learned."""
    return "".join(reversed(instances(0, times).splitlines(keepends=True)))


class Nights:
    """A place in which a model is trained night after night."""

    def __init__(self, run, folder: Path) -> None:
        self.run = run
        self.data, self.test, self.model = (folder / name for name in ("news.svm", "test.svm", "news.mpu"))
        self.folder = folder
        self.test.write_text(held_out(10))

    def train(self, wrong: int, *options, n_times: int = 10, **more):
        self.data.write_text(instances(wrong, n_times))
        return self.run("train", self.data, *TRAINING, "--accept-on", self.test, *options, **more)

    def wrong(self, model: Path | None = None) -> int:
        """How many features the model has wrong."""
        found = json.loads(self.run("evaluate", self.test, model or self.model, "--json").stdout)
        return round((1 - found["micro_f1"]) * FEATURES)

    def kept(self) -> dict[int, int]:
        """What each model that is kept has wrong."""
        paths = {int(path.suffix[1:]): path for path in self.folder.glob("news.mpu.*")}
        return {number: self.wrong(path) for number, path in sorted(paths.items())}

    def path(self, number: int) -> Path:
        return self.folder / f"news.mpu.{number}"

    def left_over(self) -> list[str]:
        return [path.name for path in self.folder.rglob(".*")]


@pytest.fixture
def nights(run, tmp_path) -> Nights:
    return Nights(run, tmp_path)


def after_three(run, folder: Path) -> None:
    nights = Nights(run, folder)
    for wrong in (3, 2, 1):
        assert nights.train(wrong, "-q").exit_code == 0


@pytest.fixture
def three(copied, run, tmp_path) -> Nights:
    """A place after three nights, each better than the one before."""
    copied(after_three)
    return Nights(run, tmp_path)


def test_a_worse_model_is_rejected_in_one_line_and_in_the_report(three):
    before = contents(three.folder)
    result = three.train(4, "-q")
    assert (result.exit_code, result.stdout) == (3, "")
    (line,) = result.stderr.splitlines()
    assert "news.mpu stays: the present one is ahead of the new model by 0.1500 micro-F1, 95 %" in line
    assert contents(three.folder) == {**before, "news.svm": three.data.read_bytes()}
    result = three.train(4, "--json")
    tested = json.loads(result.stdout)["acceptance"]
    assert (result.exit_code, tested["accepted"], tested["test_metric"]) == (3, False, "micro_f1")
    assert tested["test_value"] == pytest.approx(0.8)
    assert re.search("^rejected +the present one is ahead", three.train(4).stdout, re.MULTILINE)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_rejection_is_the_error_also_where_report_and_history_cannot_be_written(three, start):
    before = contents(three.model)
    three.data.write_text(instances(6, 10))
    arguments = ("train", three.data, *TRAINING, *ALONE, "--accept-on", three.test, "--json", "--history", "/dev/full")
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        _, said, status = start(*arguments, redirected=full.fileno()).end()
    *warnings, error = said.splitlines()
    assert (status, contents(three.model)) == (3, before)
    assert [line.partition(": ")[2].partition(":")[0] for line in warnings] == ["/dev/full", "standard output"]
    assert "news.mpu stays: " in error
    assert "saved" not in said


def test_rejected_ones_displace_nothing_and_accepted_ones_the_oldest(three):
    assert (three.wrong(), three.kept(), three.left_over()) == (1, {1: 2, 2: 3}, [])
    for _ in range(3):
        assert three.train(6, "-q", "--keep", 2).exit_code == 3
    assert three.kept() == {1: 2, 2: 3}
    assert (three.train(0, "-q", "--keep", 2).exit_code, three.kept()) == (0, {1: 1, 2: 2})
    assert (three.train(0, "-q", "--keep", 0, "--seed", 1).exit_code, three.kept()) == (0, {})


@pytest.mark.slow
def test_many_small_losses_do_not_add_up(nights):
    """Each is within the interval of the difference to the one before."""
    nights.test.write_text(held_out(1))
    results = [nights.train(wrong, "-q") for wrong in range(5)]
    assert [result.exit_code for result in results] == [0, 0, 0, 0, 3]
    assert f"{nights.model} stays: news.mpu.3 is ahead of the new model by 0.2000 micro-F1" in results[-1].stderr
    assert nights.train(4, "-q", "--keep", 2).exit_code == 0


def test_another_metric_decides(three):
    result = three.train(4, "-q", "--accept-metric", "ndcg_at_3")
    assert result.exit_code == 3
    assert "ndcg at 3" in result.stderr


def test_metrics_are_those_of_comparisons():
    assert set(METRICS) <= {*SET_METRICS, SAMPLES_F1, *at_cutoffs(GAINS, KS)}


def test_a_model_that_was_trained_otherwise_is_kept(three):
    three.data.write_text(instances(5, 10))
    assert (three.run("train", three.data, *TRAINING, "-q").exit_code, three.kept()) == (0, {1: 2, 2: 3})
    assert three.train(5, "-q", "--seed", 1).exit_code == 3  # news.mpu.1 is better
    assert (three.train(0, "-q").exit_code, three.kept()) == (0, {1: 5, 2: 2, 3: 3})


def test_without_it_nothing_is_kept(nights):
    nights.data.write_text(instances(0, 10))
    assert nights.run("train", nights.data, *TRAINING).exit_code == 0
    plain = model_files(nights.model)
    assert sorted(path.name for path in nights.folder.iterdir()) == ["news.mpu", "news.svm", "test.svm"]
    shutil.rmtree(nights.model)
    assert (nights.train(0, "-q").exit_code, model_files(nights.model)) == (0, plain)


@pytest.mark.parametrize("name", ["a\nname", "-name", "*", *slow("a name", "1")])
def test_any_name(run, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    Path(f"{name}.svm").write_text(instances(0, 1))
    Path("test.svm").write_text(held_out(1))
    for seed in (1, 2):
        options = (*TRAINING, "--accept-on", "test.svm", "--seed", seed, "-q")
        run.ok("train", *options, "--", f"{name}.svm")
    assert {path.name for path in tmp_path.glob("*.mpu*")} == {f"{name}.mpu", f"{name}.mpu.1"}


def test_going_back_is_moving_and_a_model_that_is_held_does_not_come_back_with_the_same_data(three):
    three.model.rename(three.folder / "news.mpu.held")
    three.path(1).rename(three.model)
    again = three.train(1, "-q")
    assert (again.exit_code, three.wrong()) == (3, 2)
    assert "trained on the same data as news.mpu.held" in again.stderr
    (record,) = (three.folder / "news.mpu.held").glob("training-*.json")
    record.write_text("[]")
    again = three.train(1, "-q")
    assert again.stderr.startswith(f"warning: {three.folder / 'news.mpu.held'}: the record of its training is damaged")
    assert (again.exit_code, three.wrong()) == (0, 1)
    assert [three.wrong(three.path(number)) for number in (1, 2)] == [2, 3]


def test_while_the_model_is_gone_a_new_one_is_compared_with_the_kept_ones(three):
    shutil.rmtree(three.model)
    result = three.train(6, "-q")
    assert result.exit_code == 3
    assert result.stderr.startswith(f"error: {three.model} is not made: news.mpu.1 is ahead of the new model")
    assert (three.train(0, "-q").exit_code, three.kept()) == (0, {1: 2, 2: 3})


FOREIGN = {
    "file": lambda path: path.write_text("mine"),
    "directory": lambda path: (path / "notes").mkdir(parents=True),
    "dangling link": lambda path: path.symlink_to("nowhere"),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_what_is_no_model_is_not_touched(three, kind):
    other = three.path(3)
    FOREIGN[kind](other)
    before = contents(three.folder)
    result = three.train(0, "-q")
    assert result.exit_code == 1
    assert "news.mpu.3" in result.stderr
    assert {**contents(three.folder), "news.svm": b""} == {**before, "news.svm": b""}
    assert os.path.lexists(other)


def test_a_damaged_kept_model_is_not_compared_with(three):
    (arrays,) = three.path(1).glob("level0-*")
    arrays.unlink()
    result = three.train(0, "-q")
    assert result.exit_code == 0
    assert "news.mpu.1 is not compared with" in result.stderr


def test_a_damaged_model_is_said_before_the_training(three):
    manifest = three.model / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"labels": 2', '"labels": 3'))
    result = three.train(0, "-q")
    assert result.exit_code == 1
    assert "put a kept model in its place" in result.stderr
    assert three.kept() == {1: 2, 2: 3}


def test_history_has_what_was_found_on_the_test_data(three, tmp_path):
    history = tmp_path / "history.jsonl"
    three.test.write_text(instances(0, 10) + "1 77:1\n" * 20)
    assert three.train(0, "-q", "--history", history).exit_code == 0
    assert three.train(6, "-q", "--history", history).exit_code == 3
    good, bad = map(json.loads, history.read_text().splitlines())
    assert (good["accepted"], bad["accepted"]) == (True, False)
    assert "is ahead of" in good["verdict"]
    assert good["unknown_features"] == pytest.approx(20 / 220)
    assert good["labels_per_instance"] == pytest.approx(1, abs=0.1)
    assert good["labels_expected"] == pytest.approx(1 / 0.9, abs=0.01)
    assert any("never occurred in training" in warning for warning in good["warnings"])


@pytest.mark.parametrize("form", ["copy", "compressed", "other labels", "one of several", "first instances"])
def test_a_copy_of_the_training_data_is_refused(nights, form):
    rows = [f"{i % 2 + 1} 1:1.{i:02} {i + 2}:1\n" for i in range(40)]
    nights.data.write_text("".join(rows))
    files = [nights.data]
    test = nights.folder / f"held-out.svm{'.gz' * (form == 'compressed')}"
    text = "".join(f"# a copy\n{'1,2' * (form == 'other labels') or row[:1]}{row[1:]}" for row in rows)
    test.write_bytes(gzip.compress(text.encode()) if form == "compressed" else text.encode())
    if form == "one of several":
        files = [nights.folder / "first.svm", nights.data]
        files[0].write_text("1 1:1\n2 1:2\n")
    if form == "first instances":
        test.write_text("".join(rows[:20]))
    result = nights.run("train", *files, "-o", nights.model, *TRAINING, "--accept-on", test)
    assert (result.exit_code, nights.model.exists()) == (2, False)
    assert "held-out.svm" in result.stderr
    assert nights.run("train", *files, "-o", nights.model, *TRAINING, "--accept-on", nights.test).exit_code == 0


def test_texts_of_another_vectoriser_are_refused(run, tmp_path, monkeypatch):
    """Their features have other numbers, so the same test data would say nothing of one of the two models."""
    monkeypatch.chdir(tmp_path)
    for name, word in (("a", "sun"), ("b", "zebra")):
        texts = [{"text": f"{word} news {topic}", "tags": [topic]} for topic in ("sport", "art") * 20]
        Path(f"{name}.jsonl").write_text("".join(json.dumps(text) + "\n" for text in texts))
        run.ok("vectorize", f"{name}.jsonl", "-o", f"{name}.svm", "-q")
    run("vectorize", "b.jsonl", "--like", "a.svm", "-o", "like.svm", "-q")
    options = ("-o", "m.mpu", *TRAINING, "-q", "--accept-on")
    run.ok("train", "a.svm", *options, "like.svm")
    result = run("train", "b.svm", *options, "like.svm")
    assert result.exit_code == 1
    assert "make the data by mpu vectorize --like" in result.stderr
    shutil.copy("a.svm", "test.svm")
    run.ok("train", "like.svm", *options, "test.svm")


def renumbered(pattern: str, more: int) -> str:
    return re.sub(pattern, lambda found: str(int(found[0]) + more), held_out(10))


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize(
    "text, reason",
    [
        (renumbered(r"\d+(?=:)", 1000), "most of the features are unknown to it; unless they are numbered as in the"),
        (renumbered(r"\b\d+(?=[, ])", 1000), "most of the true labels are unknown to it; unless they are"),
        (renumbered(r"\b\d+(?=[, ])", 1), "renumber the data: perl"),
        ("77 1:1 3:1\n88 2:1 4:1\n", "2 of 2 true labels unknown to the model"),  # few, but none is known
        ("1 900:1\n2 901:1\n", "2 of 2 feature values ignored"),
        ("1\n2\n", "no instance has a feature"),
    ],
    ids=["features", "labels", "base", "few labels", "few features", "no features"],
)
def test_test_data_that_do_not_fit_decide_nothing(nights, is_first, text, reason):
    """No model predicts anything of them, so no model would be worse than another."""
    if not is_first:
        nights.train(3, "-q")
    nights.test.write_text(text)
    result = nights.train(1, "-q")
    assert result.exit_code == 3
    said = result.stderr.splitlines()[-1]
    assert "does not fit" in said
    assert reason in said
    assert nights.model.exists() != is_first


@pytest.mark.parametrize("more", [-1, 1])
def test_test_labels_from_another_base_decide_nothing_though_few_are_unknown(nights, more):
    """The first and the last label are rare. The new model was accepted with a micro-F1 near 0."""
    features = enumerate([1, 5, *[2, 3, 4] * 6], 1)
    lines = [(label, f" {feature}:1\n") for feature, label in features for _ in range(30)]
    nights.data.write_text("".join(f"{label}{rest}" for label, rest in lines))
    nights.test.write_text("".join(f"{label + more}{rest}" for label, rest in lines[29:31] + lines[60:]))
    result = nights.run("train", nights.data, *TRAINING, "-q", "--accept-on", nights.test)
    assert (result.exit_code, nights.model.exists()) == (3, False)
    assert f"true labels are {1 + more} to {5 + more}, and were 1 to 5 in training; renumber" in result.stderr


STEPS = 12  # in which a training that replaces a model changes files


class Faults:
    """Counts what changes files, and lets one of these steps fail."""

    def __init__(self, monkeypatch, at: int, fail) -> None:
        self.steps, self.at, self.fail = 0, at, fail
        for owner, name in ((Path, "replace"), (Path, "rename"), (Path, "hardlink_to"), (os, "write"), (Path, "mkdir")):
            monkeypatch.setattr(owner, name, self._counted(getattr(owner, name)))

    def _counted(self, function):
        def counted(*arguments, **options):
            self.steps += 1
            if self.steps == self.at:
                self.fail()
            return function(*arguments, **options)

        return counted


def check_whole(nights: Nights) -> None:
    """Nothing that was accepted is lost, and the next training works."""
    in_use, kept = nights.wrong(), list(nights.kept().values())
    assert [wrong for wrong in (in_use, *kept) if wrong not in (0, 1)] == [2, 3]
    assert in_use in (0, 1) and 1 in (in_use, *kept)
    assert (nights.train(0, "-q", "--seed", 1).exit_code, nights.left_over()) == (0, [])
    kept = list(nights.kept().values())
    assert kept[-3:] == [1, 2, 3] and set(kept[:-3]) <= {0}
    assert (list(nights.kept()), nights.wrong()) == (list(range(1, len(kept) + 1)), 0)


@pytest.mark.parametrize("at", [1, 7, STEPS + 1, *slow(2, 3, 4, 5, 6, *range(8, STEPS + 1))])
def test_a_disk_that_is_full_at_any_step(three, monkeypatch, at):
    with monkeypatch.context() as patch:
        faults = Faults(patch, at, Mock(side_effect=OSError(errno.ENOSPC, "No space left on device")))
        result = three.train(0, "-q")
    assert (faults.steps >= at) == (at <= STEPS)
    assert result.exit_code in (0, 1)
    if result.exit_code:
        message(result)
        assert three.wrong() == 1
    check_whole(three)


def train_and_die(at: int, arguments: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        Faults(patch, at, lambda: os.kill(os.getpid(), signal.SIGKILL))
        mpu(arguments, prog_name="mpu")


@pytest.mark.parametrize("at", [6, STEPS, *slow(1, 2, 3, 4, 5, 7, 8, 9, 10, 11)])
def test_a_training_that_is_killed_at_any_step(three, at):
    three.data.write_text(instances(0, 10))
    arguments = ["train", three.data, *TRAINING, *ALONE, "--accept-on", three.test, "-q"]
    process = PROCESSES.Process(target=train_and_die, args=(at, list(map(str, arguments))))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    check_whole(three)
