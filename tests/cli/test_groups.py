"""`--groups`: c of each group of instances, in train, estimate-c and suggest."""

import re

import numpy as np
import pytest
from sklearn import config_context

from mpu_cli import MPUClassifier, bundle
from mpu_cli.svmlight.reader import read
from tests.golden import refused
from tests.svm import write

QUICK = "--levels", 1, "--epochs", 5, "--features", "linear", "-q"


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    """1,500 instances, of which the first half was annotated well, and the second badly."""
    folder = tmp_path_factory.mktemp("groups")
    rng = np.random.default_rng(0)
    truth = rng.random((1500, 6)) < 0.3
    kept = truth & (rng.random(truth.shape) < np.where(np.arange(1500) < 750, 0.9, 0.4)[:, None])
    noise = rng.random((1500, 6)) < 0.02
    news = write(folder / "news.svm", truth ^ noise, kept, form="d")
    (folder / "groups.txt").write_text("library\n" * 750 + "archive\n" * 750)
    missing = [int((truth & ~kept)[half].sum()) for half in (slice(750), slice(750, None))]
    return news, folder / "groups.txt", *missing


def test_estimate_c_shows_the_worst_group_first(run, collection, tmp_path):
    news, groups, *_, missing = collection
    options, file = ("--groups", groups, "--features", "linear", "-q"), tmp_path / "c.txt"
    report = run.json("estimate-c", news, *options, "--per-label", "-o", file)
    of_labels = file.read_text()
    assert any("the file has one c for each label" in text for text in report["warnings"])
    for row in report["per_label"]:  # c of a label is what those of groups imply, by which its labels are missing
        assert row["annotations"] * (1 / row["c"] - 1) == pytest.approx(row["missing"])
        assert row["interval"][0] <= row["c"] <= row["interval"][1]
    rows = {row["group"]: row for row in report["per_group"]}
    assert rows["archive"]["c"] == pytest.approx(0.4, abs=0.06)
    assert rows["library"]["c"] == pytest.approx(0.9, abs=0.06)
    assert rows["archive"]["missing"] == pytest.approx(missing, rel=0.25)
    assert report["missing"] == pytest.approx(sum(row["missing"] for row in rows.values()))
    assert report["assumption"].startswith("in each group of instances, ")
    text = run("estimate-c", news, *options, "-o", file).stdout
    assert file.read_text() == of_labels
    table = [line.split() for line in text.split("\n\n")[1].splitlines()]
    assert [row[0] for row in table] == ["group", "archive", "library"]


def test_a_group_with_one_label_each_has_no_interval(run, collection, tmp_path):
    """Its c is unknown, which a warning says."""
    lines = [line.partition(" ") for line in collection[0].read_text().splitlines()[::2]]
    news, groups, table = tmp_path / "news.svm", tmp_path / "groups.txt", tmp_path / "news.csv"
    news.write_text("".join(f"{a.split(',')[0] if i < 375 else a} {b}\n" for i, (a, _, b) in enumerate(lines)))
    groups.write_text("library\n" * 375 + "archive\n" * 375)
    options = news, "--groups", groups
    report = run.json("estimate-c", *options, "--features", "linear", "-q")
    rows = {row["group"]: (row["interval"], row["missing"]) for row in report["per_group"]}
    assert rows["library"] == (None, None)
    assert None not in rows["archive"]
    assert any("c of group library cannot be estimated" in text for text in report["warnings"])
    text = run("estimate-c", *options, "--features", "linear").stdout
    assert re.search("\nlibrary .* unknown  c is only assumed\n", text)
    run.ok("report", *options, "-o", tmp_path / "news.html", "--csv", table)
    assert re.search("\ngroup,,library,[0-9]+,,,\n", table.read_text())


@pytest.mark.parametrize("kept", [0.1, 0.0])
def test_a_group_that_is_hardly_annotated_has_its_own_c(run, tmp_path, kept):
    """Its instances would have more annotations in the large group; without any, its c is unknown."""
    rng = np.random.default_rng(0)
    truth, is_new = rng.random((1500, 6)) < 0.3, np.arange(1500) >= 1200
    annotated = truth & (rng.random(truth.shape) < np.where(is_new, kept, 0.8)[:, None])
    news = write(tmp_path / "news.svm", truth, annotated, form="d")
    (tmp_path / "groups.txt").write_text("old\n" * 1200 + "new\n" * 300)
    report = run.json("estimate-c", news, "--groups", tmp_path / "groups.txt", "--features", "linear", "-q")
    new, old = (next(row for row in report["per_group"] if row["group"] == name) for name in ("new", "old"))
    assert old["c"] == pytest.approx(0.8, abs=0.05)
    if not kept:
        assert (new["interval"], new["missing"]) == (None, None)
        assert any("c of group new cannot be estimated: nothing is annotated" in text for text in report["warnings"])
        return
    assert new["interval"][0] <= annotated[is_new].sum() / truth[is_new].sum() <= new["interval"][1] < 0.3
    assert new["missing"] == pytest.approx((truth & ~annotated)[is_new].sum(), rel=0.25)
    assert report["c"] == pytest.approx(annotated.sum() / truth.sum(), abs=0.05)


def test_labels_that_differ_within_groups_are_warned_of(run, collection, tmp_path):
    """Groups that have nothing to do with the loss, and one label that is annotated nearly always."""
    rng = np.random.default_rng(0)
    true = rng.random((1500, 6)) < 0.3
    kept = true & (rng.random(true.shape) < np.append(np.full(5, 0.25), 0.95))
    news, groups = write(tmp_path / "a.svm", true, kept, form="d"), tmp_path / "groups.txt"
    groups.write_text("shop\nweb\n" * 750)
    report = run.json("estimate-c", news, "--groups", groups, "--features", "linear", "-q")
    assert report["interval"][0] <= kept.sum() / true.sum() <= report["interval"][1]
    warning = "labels of a group clearly differ"
    assert any(text.startswith(warning) for text in report["warnings"])
    report = run.json("estimate-c", collection[0], "--groups", collection[1], "--features", "linear", "-q")
    assert not any(text.startswith(warning) for text in report["warnings"])


@pytest.mark.slow
def test_train_and_complete_use_it(run, collection, tmp_path):
    news, groups, few, many = collection
    report = run.json("train", news, "--groups", groups, "-o", tmp_path / "m", *QUICK)
    assert [row["group"] for row in report["c_by_group"]] == ["archive", "library"]
    assert report["c_assumption"].startswith("in each group of instances, every true label is annotated with the same")
    assert report["c"] == pytest.approx(bundle.load(tmp_path / "m").c[0])
    out = tmp_path / "missing.tsv"
    listed = {}
    for name, options in (("one", ()), ("groups", ("--groups", groups))):
        run.ok("suggest", news, "--top", few + many, "-o", out, *QUICK, *options)
        rows = [line.split("\t") for line in out.read_text().splitlines() if line[0].isdigit()]
        listed[name] = sum(int(row[0]) > 750 for row in rows) / len(rows)
    assert listed["groups"] > listed["one"] + 0.05  # most are missing there
    shown = run("train", news, "--groups", groups, "-o", tmp_path / "m", *QUICK[:-1]).stdout
    assert "archive" in shown.split("\n\n")[1]
    (label,) = run.json("info", tmp_path / "m", "--label", 1)["of_labels"]
    assert label["c"] == pytest.approx(label["annotated"] / label["true"])


def test_fit_takes_them_as_the_command_does(run, collection, tmp_path):
    news, groups, *_ = collection
    expected = run.json("train", news, "--groups", groups, "-o", tmp_path / "m", *QUICK)
    data = read(news)
    X, (S, _) = data.features, data.occurring_labels()
    names = groups.read_text().split()
    model = MPUClassifier(levels=1, epochs=5, features="linear").fit(X, S, groups=names)
    assert (model.record_["c_by_group"], model.record_["c"]) == (expected["c_by_group"], expected["c"])
    one = MPUClassifier(levels=1, epochs=5, features="linear").fit(X, S, groups=["all"] * len(names))
    assert [row["group"] for row in one.record_["c_by_group"]] == ["all"]
    with config_context(enable_metadata_routing=True):
        assert MPUClassifier().set_fit_request(groups=True).get_metadata_routing().fit.requests["groups"] is True
    with refused(ValueError):
        MPUClassifier().fit(X, S, groups=names[1:])
    with pytest.raises(ValueError, match="c of groups is estimated from annotations alone, and here it is set"):
        MPUClassifier(c=0.4).fit(X, S, groups=names)
    with pytest.raises(TypeError, match="'group'"):
        MPUClassifier().fit(X, S, group=names)
