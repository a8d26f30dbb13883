"""The recipes of the README and of the site do what is said of them: they are taken from the text."""

import gzip
import json
import re
from textwrap import dedent

import pytest

from tests.cli.tables import table
from tests.conftest import ROOT
from tests.data.debian_packages import packages
from tests.examples.conftest import HELD_OUT, NEWS

PAGES = [ROOT / page for page in ("README.md", "docs/guide/engineer.md")]
BLOCKS = [dedent(block) for page in PAGES for block in re.findall(r"(?:^    .*\n)+", page.read_text(), re.MULTILINE)]
OTHER_NEWS = "3 1:1\n4 2:1\n3,4 1:1 2:1\n" * 30


def guide(page: str) -> str:
    return "".join(blocks(page))


def blocks(page: str, folder: str = "docs/guide") -> list[str]:
    """The blocks of commands of a page of the guide."""
    text = (ROOT / folder / page).read_text()
    return re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def recipe(*words: str) -> str:
    """The one indented block of code of these pages that has these words."""
    (block,) = (block for block in BLOCKS if all(word in block for word in words))
    return block


@pytest.fixture
def make(shell, tmp_path):
    """Make news.tags by the recipe; give the lines of what was done."""
    (tmp_path / "Makefile").write_text(recipe("%.tags:"))

    def run() -> list[str]:
        result = shell("make", "--no-print-directory", "news.tags")
        assert result.stderr == ""
        return result.stdout.splitlines()

    return run


TRAINED = "mpu train news.svm -o news.mpu --quiet"
PREDICTED = "mpu predict news.mpu new.svm -o news.tags"
NOTHING = "make: 'news.tags' is up to date."


@pytest.mark.slow  # trainings in processes, with default options
def test_make_does_what_is_needed_and_no_more(make, shell, tmp_path):
    tags = tmp_path / "news.tags"
    assert (make(), tags.read_text()) == ([TRAINED, PREDICTED], "1\n2\n")
    (tmp_path / "news.svm").write_text(OTHER_NEWS)
    assert (make(), tags.read_text()) == ([TRAINED, PREDICTED], "3\n4\n")
    assert make() == [NOTHING]
    (tmp_path / "news.svm").write_text(NEWS)
    shell("mpu", "train", "news.svm", "--quiet")
    assert (make(), tags.read_text()) == ([PREDICTED], "1\n2\n")
    (tmp_path / "new.svm").write_text(" 2:1\n")
    assert (make(), tags.read_text()) == ([PREDICTED], "2\n")
    assert make() == [NOTHING]


@pytest.mark.slow  # trainings in processes, with default options
def test_make_keeps_what_is_there_when_a_training_fails_and_tries_again(make, shell, tmp_path):
    make()
    (tmp_path / "news.svm").write_text("no data\n")
    for _ in range(2):
        assert "error: news.svm:1: " in shell("make", "news.tags", status=2).stderr
    assert (tmp_path / "news.tags").read_text() == "1\n2\n"


@pytest.mark.slow  # trainings in processes, with default options
def test_cron_with_a_log_has_nothing_to_mail_after_a_success(shell, tmp_path):
    result = shell("sh", "-c", recipe("mpu train", "--accept-on", "train.log"))
    assert (result.stdout, result.stderr) == ("", "")
    assert json.loads((tmp_path / "reports.json").read_text())["instances"] == 90
    *steps, last = map(json.loads, (tmp_path / "train.log").read_text().splitlines())
    assert [step["step"] for step in steps[-2:]] == ["writing the model", "testing the new model"]
    assert last["report"] == json.loads((tmp_path / "reports.json").read_text())


def test_cron_with_a_log_mails_the_error_of_a_failure(shell, tmp_path):
    (tmp_path / "news.svm").write_text("sports 1:1\n")
    result = shell("sh", "-c", recipe("mpu train", "--accept-on", "train.log"))
    assert result.stderr == ""
    error = json.loads(result.stdout)
    assert error["level"] == "error"
    assert error["message"].startswith("news.svm:1: label 'sports' ")
    assert (tmp_path / "train.log").read_text().endswith(result.stdout)


# The guides: half a dozen commands each, in processes, with default options.


@pytest.mark.slow
def test_the_guide_finds_labels_that_are_missing(shell, tmp_path, instances):
    (tmp_path / "complete.svm").write_text("".join(instances))
    shell("mpu", "corrupt", "complete.svm", "news.svm", "--missing-rate", "0.4", "--removed", "removed.tsv")
    (tmp_path / "news.txt").write_text("A text.\n" * len((tmp_path / "news.svm").read_text().splitlines()))
    (tmp_path / "tags.txt").write_text("".join(f"tag {k}\n" for k in range(1, 100)))
    truth = [line.split(" ")[0] for line in instances]
    checked = ["instance\tlabel\tverdict\tsource\n"]
    for i in range(0, len(truth), 10):
        checked += [f"{i + 1}\t{label}\tyes\tsample\n" for label in truth[i].split(",") if label]
        checked.append(f"{i + 1}\t*\tno\tsample\n")
    (tmp_path / "checked.tsv").write_text("".join(checked))
    (tmp_path / "sources.txt").write_text("library\n" * 600 + "archive\n" * (len(truth) - 600))
    books = [{"id": f"b{i}", "text": f"about {i % 5}", "tags": [f"tag {i % 5}"]} for i in range(50)]
    (tmp_path / "books.jsonl").write_text("".join(json.dumps(book) + "\n" for book in books))
    (tmp_path / "checked-ann.tsv").write_text("instance\tlabel\tverdict\n1\ttag 3\tyes\n")
    result = shell("sh", "-e", "-c", guide("editor.md"))
    assert "archive" in result.stdout
    first = json.loads((tmp_path / "books-new.jsonl").read_text().splitlines()[0])
    assert first["tags"] == ["tag 0", "tag 3"]
    assert (tmp_path / "more.tsv").exists()
    assert "90 % interval" in result.stdout
    assert "200 instances to review" in result.stderr
    assert "records completely reviewed" in (tmp_path / "report.html").read_text()
    of_labels = [line for line in (tmp_path / "report.csv").read_text().splitlines() if line.startswith("label,")]
    assert len(of_labels) == len({label for line in truth for label in line.split(",") if label})
    assert "about 0" in (tmp_path / "books.html").read_text()
    assert b"A text." in (tmp_path / "review.html").read_bytes()
    removed = (tmp_path / "removed.tsv").read_text().splitlines()
    right = [f"{row['instance']}\t{row['label']}" in removed for row in table(tmp_path / "missing.tsv")]
    assert len(right) == 1000
    assert sum(right[:200]) > 195
    assert sum(right) > 950


def thesaurus(*names: str) -> str:
    concepts = (f'<https://e.org/{k}> skos:prefLabel "{name}"@en .\n' for k, name in enumerate(names))
    return "".join(["@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n", *concepts])


@pytest.mark.slow
def test_the_guide_leads_from_annif_and_back(shell, tmp_path):
    words = ("apples", "cars", "seas")
    (tmp_path / "thesaurus.ttl").write_text(thesaurus(*words))
    two = [(i % 3, (i + 1) % 3) for i in range(90)]  # of which a third is missing
    subjects = [pair[: 1 + (i % 3 > 0 or i % 2)] for i, pair in enumerate(two)]
    texts = [f"text on {words[a]} with {words[b]}" for a, b in two]
    uris = (" ".join(f"<https://e.org/{k}>" for k in them) for them in subjects)
    lines = [f"{text}\t{those}\n" for text, those in zip(texts, uris, strict=True)]
    (tmp_path / "corpus.tsv").write_text("".join([*lines, "a text on apples\t\n"]))
    (tmp_path / "test.tsv").write_text("".join(lines[:9]))
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "a.txt").write_text("more on seas")
    (tmp_path / "checked.tsv").write_text("instance\tlabel\tverdict\n91\tapples\tyes\n")
    shell("sh", "-e", "-c", guide("from-annif.md"))
    assert "a\tseas" in (tmp_path / "new.tsv").read_text()
    changed = (tmp_path / "corpus-new.tsv").read_text().splitlines()
    assert changed[:90] == "".join(lines).splitlines()
    assert changed[90] == "a text on apples\t<https://e.org/0>"


@pytest.mark.slow
def test_the_guide_compares_methods(shell, tmp_path, instances):
    pytest.importorskip("matplotlib")
    for name, lines in (("train", instances[:200]), ("test", instances[400:600])):
        (tmp_path / f"{name}.svm").write_text("".join(lines))
    closed = "".join(f"{i}\t*\tno\tsample\n" for i in range(1, 51))
    (tmp_path / "checked.tsv").write_text(f"instance\tlabel\tverdict\tsource\n{closed}")
    for name in ("one", "other"):
        shell("mpu", "train", "train.svm", "--levels", "1", "--c", "1", "-o", f"{name}.mpu")
    commands = guide("researcher.md").replace("mpu experiment", "mpu experiment -j 1")  # starting others takes longest
    result = shell("sh", "-e", "-c", commands)
    assert (tmp_path / "compared" / "results.csv").read_text().count("\n") == 1 + 4 * 2 * 2
    assert "other.mpu and one.mpu cannot be told apart" in result.stdout
    assert "psp_at_5" in result.stdout
    assert (tmp_path / "forest-oof.txt").read_text().count("\n") == (tmp_path / "noisy.svm").read_text().count("\n")
    assert len(table(tmp_path / "missing.tsv")) == 100


@pytest.mark.slow
def test_the_guide_reads_several_files(shell, tmp_path, instances):
    (tmp_path / "test").mkdir()
    for number, part in enumerate((instances[:500], instances[500:])):
        for folder in (tmp_path, tmp_path / "test"):
            (folder / f"part-{number}.svm.gz").write_bytes(gzip.compress("".join(part).encode()))
    several, of_urls = blocks("files.md")
    assert "https://" in of_urls
    assert "micro_f1" in shell("sh", "-e", "-c", several).stdout


def test_the_guide_splits_a_large_file(shell, tmp_path, instances):
    text = "".join(instances[:50])
    (tmp_path / "news.svm").write_text(text)
    (tmp_path / "news.svm.gz").write_bytes(gzip.compress(f"50 999 9\n{text}".encode()))
    (commands,) = (block for block in blocks("cluster.md") if "split" in block)
    for command in commands.splitlines():
        shell("sh", "-e", "-c", command)
        assert (tmp_path / "news-aa.svm").read_text() == text
        (tmp_path / "news-aa.svm").unlink()


@pytest.mark.slow
def test_the_nights_of_the_guide(shell, tmp_path):
    words = "--accept-on", "mv ", "jq "
    night, back, history = (block for block in blocks("engineer.md") if any(word in block for word in words))
    (tmp_path / "test.svm.gz").write_bytes(gzip.compress(HELD_OUT.encode()))
    for news, status in ((NEWS, 0), (NEWS * 2, 0), (OTHER_NEWS, 3)):
        (tmp_path / "news.svm.gz").write_bytes(gzip.compress(news.encode()))
        shell("sh", "-c", f"{night.strip()} --history nights.jsonl", status=status)
    assert sorted(path.name for path in tmp_path.glob("news.mpu*")) == ["news.mpu", "news.mpu.1"]
    shell("sh", "-e", "-c", back)
    assert sorted(path.name for path in tmp_path.glob("*.mpu*")) == ["news.mpu", "news.mpu.held"]
    assert shell("mpu", "predict", "news.mpu", "new.svm").stdout == "1\n2\n"
    entries = [json.loads(line) for line in (tmp_path / "nights.jsonl").read_text().splitlines()]
    assert len(entries) == 3
    assert {*re.findall(r"\.(\w+)[],]", history)} - {"error"} <= {*entries[-1]}  # which jq is to print


@pytest.mark.slow
def test_the_guide_from_text_to_tags(shell, tmp_path):
    topics = {"Sport": "the team won a match in the league", "Politics": "the minister spoke about a law"}
    ids = [(topic, i) for i in range(40) for topic in topics]
    records = [{"id": f"{topic}{i}", "text": f"{topics[topic]} {i}", "tags": [topic]} for topic, i in ids]
    for name in ("news", "books"):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (tmp_path / "new.jsonl").write_text('{"text": "a new law"}\n{"text": "leagues and matches"}\n')
    (tmp_path / "thesaurus.ttl").write_text(thesaurus("Sport"))
    result = shell("sh", "-e", "-c", guide("text.md"))
    assert sorted((tmp_path / "news.text" / "labels").read_text().splitlines()) == ["Politics", "Sport"]
    tags = [json.loads(line) for line in (tmp_path / "tags.jsonl").read_text().splitlines()]
    assert [record["labels"][0] for record in tags] == ["Politics", "Sport"]
    assert any(line.startswith("1\tPolitics\t") for line in result.stdout.splitlines())


@pytest.fixture
def debian(shell, tmp_path):
    """Run a program where apt-cache lists made-up packages, beside this project's `data`."""
    (tmp_path / "data").symlink_to(ROOT / "data")
    (tmp_path / "Packages").write_text(packages())
    program = tmp_path / "bin" / "apt-cache"
    program.write_text(f'#!/bin/sh\ncat "{tmp_path}/Packages"\n')
    program.chmod(0o755)
    return shell


@pytest.mark.slow
def test_the_tutorial_with_tags_of_debian(debian, tmp_path):
    for block in blocks("debian.md", "docs/tutorial"):
        result = debian("sh", "-e", "-c", block)
        for asked, answered, verdict in (("questions", "answers", "no"), ("first", "reviewed", "yes")):  # on the page
            if (tmp_path / f"{asked}.tsv").exists():
                rows = re.sub(r"\t\t(?=question|suggestion)", f"\t{verdict}\t", (tmp_path / f"{asked}.tsv").read_text())
                (tmp_path / f"{answered}.tsv").write_text(rows)
    assert "48 records" in result.stderr
    assert "25 tags added" in result.stderr
    assert (tmp_path / "untagged.tsv").read_text().startswith("id\tlabel\tprobability\n")
    assert b"role::program" in (tmp_path / "first.html").read_bytes()


@pytest.mark.slow
def test_the_door_of_files(shell, tmp_path):
    (tmp_path / "data").symlink_to(ROOT / "data")
    result = shell("sh", "-e", "-c", recipe("mpu corrupt", "digits.mpu"))
    printed = recipe("micro_f1", "expected").splitlines()
    assert [line.split()[0] for line in printed] == ["c", "expected", "micro_f1"]
    assert all(any(line.startswith(word.split()[0]) for line in result.stdout.splitlines()) for word in printed)
    assert float(re.search(r"^micro_f1 +(\S+)$", result.stdout, re.MULTILINE).group(1)) > 0.88
