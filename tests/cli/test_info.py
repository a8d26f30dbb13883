"""``mpu info``: what a model is, how it was trained, and what it has learned of a label."""

import hashlib
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mpu_cli import MPUClassifier, __version__, bundle
from mpu_cli.svmlight.reader import read
from tests.bundle.models import edit
from tests.cli.tables import first_lines, write_records
from tests.cli.training import QUICK, TINY, message

FIXTURES = Path(__file__).parents[1] / "bundle" / "fixtures"
MODELS = sorted(FIXTURES.glob("v*/*"))
CHOSEN = ("--c", 0.5, "--cost", 30, "--epochs", 5)


def told(run, *args) -> dict:
    result = run("info", *args, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)


def readable(run, *args) -> str:
    """Return what is printed for people, whatever the width of its columns."""
    return re.sub(" +", " ", run("info", *args).stdout)


def make(run, folder):
    (folder / "news.svm").write_text("1,2 1:1 2:1\n1 1:1\n3 3:1\n 4:1\n" * 10)
    (folder / "news.labels").write_text("politics\nelections\nsport\n")
    run.ok("train", folder / "news.svm", *CHOSEN, "-q")


@pytest.fixture
def news(made):
    """A model of two levels, with names. Where label 2 is true, so is label 1; feature 3 stands for label 3 alone."""
    return made(make) / "news.mpu"


def test_how_it_was_trained(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("tiny.svm").write_text(TINY)
    Path("more.svm").write_text("1 1:1\n")
    run.ok("train", "tiny.svm", *QUICK, "--fully-labelled", "more.svm", "--seed", 3, "--kernel", "numpy")
    report = told(run, "tiny.mpu")
    origin = report["origin"]
    age = datetime.now(UTC) - datetime.fromisoformat(origin.pop("time"))
    assert timedelta(0) <= age < timedelta(hours=1)
    assert origin.pop("versions").keys() == {"mpu", "python", "numpy", "scipy"}
    options = {"cost": 30, "epochs": 2, "levels": 1, "c": 0.5, "seed": 3}
    checksum = hashlib.sha256(TINY.encode()).hexdigest()
    source = {"source": "tiny.svm", "files": [{"name": "tiny.svm", "bytes": len(TINY), "sha256": checksum}]}
    others = {"others": ["--fully-labelled more.svm"], "kernel": "numpy"}
    assert origin == {"instances": 6, "options": options, **source, **others}
    sizes = {name: report[name] for name in ("model", "levels", "labels", "named", "features")}
    assert sizes == {"model": "tiny.mpu", "levels": 1, "labels": 3, "named": 0, "features": 3}
    assert report["options"]["cost"] == 30


def test_the_same_time_where_one_is_asked_for(run, tiny, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    run("train", tiny, *QUICK)
    assert told(run, tiny.with_suffix(".mpu"))["origin"]["time"] == "1970-01-02T00:00:00+00:00"


def test_a_stream_has_a_name_and_no_size(run, tmp_path):
    run.ok("train", "-", "-o", tmp_path / "piped.mpu", *QUICK, stdin=TINY.encode())
    origin = told(run, tmp_path / "piped.mpu")["origin"]
    assert (origin["source"], origin["files"]) == ("-", [{"name": "-", "bytes": None, "sha256": None}])


def test_people_read_what_json_has_by_the_same_names(run, news):
    lines = dict(line.split(" ", 1) for line in readable(run, news, "--label", "elections").splitlines() if " " in line)
    assert (lines["levels"], lines["c.overall"], lines["c.estimated"], lines["c.interval"]) == ("2", "0.5", "no", "-")
    assert (lines["origin.instances"], lines["origin.options.c"]) == ("40", "0.5")
    assert (lines["origin.source"], lines["origin.versions.mpu"]) == (str(news.with_suffix(".svm")), __version__)
    assert (lines["annotated"], lines["true"]) == ("10", "20")
    text = run("info", news, "--label", "elections").stdout
    for title in ("features_for\nfeature", "features_against\nfeature", "leans_on\nlabel", "leaned_on_by\nlabel"):
        assert f"\n\n{title}" in text
    assert re.search(r"\n1 +politics +-?0\.\d{4}\n", text)


def test_a_label(run, news):
    (label,) = told(run, news, "--label", "elections", "--top", 1)["of_labels"]
    lists = ("features_for", "features_against", "leans_on", "leaned_on_by")
    found = {name: label.pop(name) for name in lists}
    assert (label["label"], label["name"], label["c"]) == (2, "elections", 0.5)
    assert (label["annotated"], label["true"]) == (10, 20)
    assert label["threshold"] == pytest.approx(bundle.load(news).predictor.thresholds[1])
    assert found["features_for"][0]["feature"] == 2 and found["features_for"][0]["weight"] > 0
    assert found["features_against"][0]["weight"] < 0
    assert all(len(entries) == 1 for entries in found.values())
    assert found["leans_on"][0]["label"] in (1, 3) and found["leans_on"][0]["name"]
    everything = told(run, news, "--label", "elections", "--label", "politics")["of_labels"]
    to = {entry["label"]: entry["weight"] for entry in everything[0]["leans_on"]}
    back = {entry["label"]: entry["weight"] for entry in everything[1]["leaned_on_by"]}
    assert to[1] == back[2] and 2 not in to and 1 not in back


def test_labels_by_number(run, news):
    by_name = told(run, news, "--label", "sport", "--label", "elections")["of_labels"]
    assert [label["label"] for label in by_name] == [3, 2]
    assert told(run, news, "--label", 3, "--label", 2, "--label", 3)["of_labels"] == by_name


@pytest.mark.parametrize("label", ["electons", "Sport", "4", ""])
def test_a_label_that_is_not_there(run, news, label):
    assert f"{news}: " in message(run("info", news, "--label", label))


@pytest.mark.parametrize("path", MODELS, ids=lambda path: str(path.relative_to(FIXTURES)))
def test_models_without_a_record_of_their_training_say_what_they_know(run, path):
    model = bundle.load(path / "model")
    label = int(model.label_ids[0])
    report = told(run, path / "model", "--label", label)
    assert (report["labels"], report["origin"]) == (len(model.label_ids), None)
    (found,) = report["of_labels"]
    assert found["annotated"] is None and found["threshold"] == pytest.approx(model.predictor.thresholds[0])
    assert "\norigin -\n" in readable(run, path / "model", "--label", label)


def test_a_model_of_a_kernel_has_no_weight_for_a_feature(run, digits, tmp_path):
    source = first_lines(digits[0], 200, tmp_path / "some.svm")
    run("train", source, "--features", "rbf", "--cost", 1, "--folds", 2, "--levels", 2, "-q")
    (label,) = told(run, tmp_path / "some.mpu", "--label", 3)["of_labels"]
    assert label["features_for"] is None and label["leans_on"]
    assert "\nfeatures_for -\n" in readable(run, tmp_path / "some.mpu", "--label", 3)


def test_features_by_name(run, tmp_path):
    texts = [("a ballot and a vote", ["elections"]), ("a ball and a goal", ["sport"]), ("nothing else", [])]
    news = write_records(tmp_path / "news.jsonl", ({"text": text, "tags": tags} for text, tags in texts * 10))
    run.ok("vectorize", news, "-o", tmp_path / "news.svm", "--stem", "none")
    run.ok("train", tmp_path / "news.svm", *CHOSEN, "-q")
    (label,) = told(run, tmp_path / "news.mpu", "--label", "sport")["of_labels"]
    names = {entry["name"] for entry in label["features_for"]}
    assert "goal" in names and not names & {"ballot", "vote"}
    vocabulary = (tmp_path / "news.text" / "features").read_text().splitlines()
    assert all(vocabulary[entry["feature"] - 1] == entry["name"] for entry in label["features_for"])
    assert "\nknows_texts yes\n" in readable(run, tmp_path / "news.mpu")


def test_a_model_from_python(run, tiny, tmp_path):
    data = read(tiny)
    model = MPUClassifier(c=0.5, C=30.0, epochs=2, levels=1).fit(data.features, data.labels.toarray()[:, 1:])
    model.save(tmp_path / "python.mpu")
    origin = told(run, tmp_path / "python.mpu")["origin"]
    assert (origin["instances"], origin["source"]) == (5, None)
    assert origin["options"] == {"cost": 30.0, "epochs": 2, "levels": 1, "c": 0.5}


@pytest.mark.parametrize("change", ["{", ("news.svm", "ne7s.svm")])
def test_a_damaged_record_is_left_out_with_a_warning(run, copied, change):
    news = copied(make) / "news.mpu"
    (file,) = news.glob("training-*.json")
    file.write_text(change if isinstance(change, str) else file.read_text().replace(*change))
    result = run.ok("info", news, "--json")
    assert json.loads(result.stdout)["origin"] is None
    assert result.stderr.startswith(f"warning: {news}: the record of its training is damaged")


@pytest.mark.parametrize(
    "values",
    [
        {"cost": "x", "eta0": [], "epochs": {}, "expected_micro_f1": "high", "expected_micro_f1_by_level": 3},
        {"c": "all", "c_by_people": {"c": 1}, "c_estimated": "perhaps"},
        {"c": 0.5, "c_interval": [0.1], "c_estimated": True},
        {"c": 0.5, "c_by_people": {"c": 1, "interval": [1], "instances": 1, "by_annotations_alone": None}},
        {"cost": True, "expected_micro_f1": 0.5, "expected_micro_f1_by_level": [0.1, None], "\x1b[31m": {"a": ["\n"]}},
        {"\x1b[31m": [{"a": 1}, {"\x1b": 2}], "b": [{"a": 1}, 2]},
    ],
)
def test_odd_values_in_a_manifest_do_no_harm(run, copied, values):
    news = copied(make) / "news.mpu"
    edit(news, options=values)
    for form in ((), ("--json",)):
        result = run("info", news, "--label", "sport", *form)
        assert result.exit_code == 0
        assert "\x1b" not in result.output
