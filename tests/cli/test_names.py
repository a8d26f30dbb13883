"""Labels by name, through every command: kept in the model, printed, and read back from people."""

import pytest

from tests.cli.tables import records, table
from tests.cli.training import QUICK, message
from tests.folders import model_files

DATA = "1 1:1\n2 2:1\n1,2 1:1 2:1\n3 3:1\n4 4:1\n" * 20
NAMES = "news\tthe news\nDigital television\n=1+1\nnews\n"
NEW = " 1:1\n 2:1\n 3:1\n 4:1\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Data with a file of names, of which two are the same and one is a formula."""
    (tmp_path / "x.svm").write_text(DATA)
    (tmp_path / "new.svm").write_text(NEW)
    (tmp_path / "tags").write_text(NAMES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def model(run, folder):
    """Train a model with names."""
    assert "several labels" not in run.ok("train", "x.svm", *QUICK, "--labels", "tags").stderr
    (folder / "tags").unlink()
    return "x.mpu"


@pytest.fixture
def predicted(run, model):
    """Predict in JSON lines."""
    return lambda *options: records(run.ok("predict", model, "new.svm", "--format", "jsonl", *options).stdout)


def test_a_model_keeps_the_names_of_its_labels(run, folder):
    """Names that are given are labels of the model; of those that are found, the labels that occur."""
    names = "1\tnews\tthe news\n2\tDigital television\n3\t=1+1\n4\tnews\n"
    (folder / "tags").write_text(NAMES + "never annotated\n")
    assert "5 labels, 1 of them never annotated" in run("train", "x.svm", *QUICK, "--labels", "tags").stdout
    (kept,) = (folder / "x.mpu").glob("labels-*.txt")
    assert kept.read_text() == f"{names}5\tnever annotated\n"
    (folder / "tags").rename(folder / "x.labels")
    run.ok("train", "x.svm", *QUICK)
    (kept,) = (folder / "x.mpu").glob("labels-*.txt")
    assert kept.read_text() == names


def test_names_beside_the_data_are_found_and_said(run, folder):
    (folder / "x.text").mkdir()
    (folder / "tags").rename(folder / "x.text" / "labels")
    assert "x.text/labels names 4 of 4 labels\n" in run("train", "x.svm", *QUICK).stderr
    assert records(run("predict", "x.mpu", "new.svm", "--format", "jsonl").stdout)[1]["labels"] == [
        "Digital television"
    ]
    (folder / "t.labels").write_text("names\nof\nother\nlabels\n")
    report = run.json("evaluate", (folder / "x.svm").rename("t.svm"), "x.mpu", "--per-label")
    assert [row["name"] for row in report["per_label"]] == ["news", "Digital television", "=1+1", "news"]


def test_a_model_without_names_is_the_same_bytes_but_for_the_names_and_predicts_numbers(run, folder, model, predicted):
    named = model_files(folder / model)
    run.ok("train", "x.svm", *QUICK)
    plain = model_files(folder / model)
    assert {name for name in named if not name.startswith("labels-")} == set(plain)
    assert [name for name in plain if plain[name] != named[name]] == ["manifest.json"]
    assert predicted()[1]["labels"] == ["2"]


def test_jsonl(predicted):
    lines = predicted()
    assert [list(line) for line in lines] == [["id", "labels", "probabilities"]] * 4
    assert [line["id"] for line in lines] == ["1", "2", "3", "4"]
    assert [line["labels"] for line in lines] == [["news (1)"], ["Digital television"], ["=1+1"], ["news (4)"]]
    assert all(0.5 < p <= 1 for line in lines for p in line["probabilities"])


def test_jsonl_with_top_k_has_k_whatever_the_thresholds(predicted):
    for line in predicted("--top-k", "3"):
        assert (len(line["labels"]), line["probabilities"]) == (3, sorted(line["probabilities"], reverse=True))
    lines = predicted("--top-k", "3", "--threshold", "0.5")
    assert all(p >= 0.5 for line in lines for p in line["probabilities"])
    assert {len(line["labels"]) for line in lines} == {1, 2}


def test_tsv_is_harmless_to_spreadsheets(run, folder, model):
    (folder / "new.text").mkdir()
    (folder / "new.text" / "ids").write_text("=cmd\na\tb\nc\n\n")
    lines = run("predict", model, "new.svm", "--format", "tsv").stdout.splitlines()
    assert lines[0] == "id\tlabel\tprobability"
    expected = ["'=cmd\tnews (1)", r"a\tb" "\tDigital television", "c\t'=1+1", "\tnews (4)"]
    assert [line.rpartition("\t")[0] for line in lines[1:]] == expected


def test_ids_beside_the_file_predicted(run, folder, model, predicted):
    (folder / "new.text").mkdir()
    ids = folder / "new.text" / "ids"
    ids.write_text('a\n17\n"\u00e4"\nd\n')
    assert [line["id"] for line in predicted()] == ["a", "17", '"\u00e4"', "d"]
    ids.write_text("a\nb\nc\n")
    run.ok("predict", model, "new.svm")  # it needs no ids


def test_estimate_c_per_label(run, folder):
    options = ("x.svm", "--per-label", "--folds", "2", "--labels", "tags")
    assert "Digital television" in run("estimate-c", *options).stdout
    report = run.json("estimate-c", *options, "-o", "c.txt")
    assert [row["name"] for row in report["per_label"]] == ["news", "Digital television", "=1+1", "news"]
    lines = [line for line in (folder / "c.txt").read_text().splitlines() if line[0] != "#"]
    assert lines[2].endswith("  # '=1+1")
    run.ok("train", *QUICK, "x.svm", "--c", "c.txt")


def test_what_is_listed_by_name_is_reviewed_by_name(run, folder):
    options = ("x.svm", "--c", "0.5", "--cost", "30", "--epochs", "2", "--folds", "2", "--labels", "tags", "-q")
    run.ok("suggest", *options, "--per-instance", "4", "-o", "missing.tsv")
    rows = table(folder / "missing.tsv")
    assert {row["label"] for row in rows} == {"news (1)", "Digital television", "'=1+1", "news (4)"}
    (folder / "checked.tsv").write_text((folder / "missing.tsv").read_text().replace("\t\t", "\tno\t"))
    report = run.json("suggest", *options, "--reviewed", "checked.tsv", "--per-instance", "4", "-o", "more.tsv")
    assert (report["review"]["decisions"], report["listed"]) == (len(rows), 0)
    assert report["per_label"]["2"]["name"] == "Digital television"


SUGGEST = ("suggest", "x.svm", "--cost", "30", "--epochs", "2", "--folds", "2", "--labels", "tags", "-q", "-o", "out")
# Of what people write: names, another one, a number, the formula as it was written, as people write it, and in quotes.
KNOWN = ("Digital television", "the news", "2", "'=1+1", "=1+1", '"Digital television"')
OF_EACH_LABEL = (("the news", "Digital television", "'=1+1", "4"), ("1", '"Digital television"', "=1+1", "4"))


def people(form: str, *labels: str) -> str:
    """Write a file as people do, with a line for each label."""
    if form == "--reviewed":
        return "instance\tlabel\tverdict\n" + "".join(f"{i}\t{label}\tyes\n" for i, label in enumerate(labels, 5))
    if form == "--c":
        return "# c\n" + "".join(f"{label} 0.5  # why\n" for label in labels)
    return "narrower\tbroader\n" + "".join(f"{label}\t4\t# why\n" for label in labels)


@pytest.mark.parametrize("form", ["--reviewed", "--c", "--implied"])
def test_people_write_names_or_numbers(run, folder, form):
    for labels in OF_EACH_LABEL if form == "--c" else [KNOWN]:
        (folder / "people").write_text(people(form, *labels))
        run.ok(*SUGGEST, form, "people", *(() if form == "--c" else ("--c", "0.5")))
        (folder / "out").unlink()
    (folder / "people").write_text(people(form, "Sports"))
    assert "people:2: there is no label called 'Sports'" in message(run(*SUGGEST, form, "people"))
    assert not (folder / "out").exists()


def test_a_number_that_is_the_name_of_another_label_is_refused(run, folder):
    """Of files: tests/golden/refusals.txt."""
    (folder / "tags").write_text("002\nnews\nmusic\nart\n")
    run.ok("train", "x.svm", *QUICK, "--labels", "tags")
    problem = "'002' is the number of a label and a name of another; write news or 002 (1)"
    assert problem in message(run("info", "x.mpu", "--label", "002"))


def test_what_commands_write_of_labels_called_by_numbers_is_read_back(run, folder):
    (folder / "tags").write_text("2\nnews\nmusic\n4\n")
    (folder / "rules").write_text("music\tnews\nnews\t2 (1)\n")
    run.ok("estimate-c", "x.svm", "--per-label", "--folds", "2", "--labels", "tags", "-o", "c.txt")
    run.ok(*SUGGEST[:-1], "out.svm", "--format", "svm", "--top", "1", "--implied", "rules", "--c", "c.txt")
    (folder / "out.filled").unlink()  # otherwise training is refused
    for names in (("--labels", "tags"), ()):  # beside the copy, there are none
        run.ok("train", "out.svm", *QUICK[2:], "--c", "c.txt", *names)
    run.ok("review", "out.svm", "--labels", "tags", "-o", "page.html")
    (folder / "x.implied").write_text("music\tnews\n")
    run.ok("review", "x.svm", "--labels", "tags", "-o", "page.html")
