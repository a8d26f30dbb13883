"""`mpu report`: one page about what is missing, with the numbers of `estimate-c` and `suggest`."""

import csv
import json
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest

TAGS = ["fruit", "<b>car</b>", "sea & sky"]
NEVER = "ice"  # no record has this tag
TEXTS = ["red apple sweet", "blue car fast", "wide sea deep"]


def report_on_records(run, folder):
    """Records with a topic each, or two; of a part of them the tag is missing."""
    topics = [[i % 3, (i + 1) % 3] if i % 8 == 1 else [i % 3] for i in range(240)]
    rows = [
        {
            "id": f"b{i}",
            "text": f"{' '.join(TEXTS[topic] for topic in of_record)} {i % 7}{i % 5}",
            "tags": [] if i % 4 == 0 else [TAGS[topic] for topic in of_record],
        }
        for i, of_record in enumerate(topics)
    ]
    (folder / "books.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "names.txt").write_text("".join(f"{name}\n" for name in [*TAGS, NEVER]))
    run.ok("vectorize", folder / "books.jsonl", "-o", folder / "books.svm", "--labels", folder / "names.txt")
    (folder / "groups.txt").write_text("".join(f"house {i % 2}\n" for i in range(240)))
    (folder / "checked.tsv").write_text(
        "id\tlabel\tverdict\n" + "b0\tfruit\tyes\nb0\tsea & sky\tno\nb4\t<b>car</b>\tyes\nb8\tfruit\tno\n"
    )
    result = run.ok(
        *("report", folder / "books.svm", "-o", folder / "r.html", "--csv", folder / "r.csv", "--top", 7, "--json"),
        *("--groups", folder / "groups.txt", "--reviewed", folder / "checked.tsv"),
    )
    (folder / "r.json").write_text(result.stdout)


class Page(HTMLParser):
    """The tags of a page, and the texts of its table cells and headings."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags, self.cells, self.headings = [], [], []
        self._within = None
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self._within = {"td": self.cells, "h2": self.headings}.get(tag)
        if self._within is not None:
            self._within.append("")

    def handle_endtag(self, tag):
        self._within = None

    def handle_data(self, data):
        if self._within is not None:
            self._within[-1] += data


@pytest.fixture
def reported(made):
    folder = made(report_on_records)
    html = (folder / "r.html").read_text()
    with (folder / "r.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    return SimpleNamespace(html=html, page=Page(html), rows=rows, json=json.loads((folder / "r.json").read_text()))


def test_the_numbers_are_those_of_the_table(reported):
    kinds = [row["of"] for row in reported.rows]
    assert kinds == ["all", "group", "group", "label", "label", "label", "label"]
    total, *others = reported.rows
    labels = [row for row in others[2:] if row["name"] != NEVER]
    assert {row["name"] for row in labels} == set(TAGS)
    assert sum(int(row["annotations"]) for row in labels) == int(total["annotations"]) == 210
    assert float(total["missing"]) == pytest.approx(reported.json["missing"]["missing"])
    assert 0 <= float(total["low"]) <= float(total["missing"]) <= float(total["high"])
    assert sum(float(row["missing"]) for row in labels) == pytest.approx(float(total["missing"]), rel=0.05)
    for row in labels:
        assert row["name"] in reported.page.cells
        assert f"{float(row['missing']):,.1f}" in reported.page.cells


def test_nothing_is_claimed_of_a_label_that_is_never_annotated(reported):
    """0 missing, from 0 to 0, would say that no record lacks it."""
    (never,) = (row for row in reported.rows if row["name"] == NEVER)
    assert never["annotations"] == "0"
    assert never["missing"] == never["low"] == never["high"] == ""
    assert reported.json["missing"]["per_label"][never["number"]] == dict.fromkeys(("missing", "low", "high"), None) | {
        "name": NEVER
    }
    assert NEVER not in reported.page.cells


def test_what_is_missing_is_near_the_truth(reported):
    """A quarter of the tags were removed, of which two have come back."""
    assert reported.json["frequency"]["missing_rate"] == pytest.approx(0.25, abs=0.05)
    assert reported.json["missing"]["missing"] == pytest.approx(58, abs=15)
    assert "house 0" in reported.page.cells


def test_suggestions_have_names_and_ids(reported):
    suggestions = reported.json["suggestions"]
    assert len(suggestions) == 7
    for one in suggestions:
        assert one["id"] == f"b{one['instance'] - 1}"
        assert one["name"] == TAGS[(one["instance"] - 1) % 3]
        assert f"{one['probability']:.3f}" in reported.page.cells
        assert one["id"] in reported.page.cells


def test_parts_of_the_page(reported):
    assert reported.page.headings == [
        *("By group", "By label", "The most probable suggestions", "Reviewed labels", "How this was computed")
    ]
    assert "4 decisions: 2 missing labels found" in reported.html
    assert reported.page.tags.count("svg") == 5
    assert "every true label is annotated with the same chance" in reported.html


def test_it_begins_with_what_to_do_where_the_interval_is_wide(run, digits, tmp_path):
    few = b"".join(digits[0].read_bytes().splitlines(keepends=True)[:80])
    (tmp_path / "all.svm").write_bytes(few)
    run.ok("corrupt", tmp_path / "all.svm", tmp_path / "a.svm", "--missing-rate", 0.6)
    result = run("report", tmp_path / "a.svm", "-o", tmp_path / "r.html", "--json")
    low, high = json.loads(result.stdout)["frequency"]["interval"]
    assert high - low > 0.2
    html = (tmp_path / "r.html").read_text()
    assert html.index("answer 40 questions") < html.index("<h2>")


def test_names_are_text_and_nothing_is_fetched(reported):
    assert "<b>" not in reported.html
    assert "<b>car</b>" in reported.page.cells
    assert "script" not in reported.page.tags
    assert "http" not in reported.html.replace("http-equiv", "")


def few_lines(made) -> bytes:
    """Return so few of the data that no kernel is tried."""
    return b"".join((made(report_on_records) / "books.svm").read_bytes().splitlines(keepends=True)[:96])


@pytest.mark.slow
def test_records_of_a_second_file_are_not_counted(run, made, tmp_path):
    lines = few_lines(made).splitlines(keepends=True)
    data, more = tmp_path / "books.svm", tmp_path / "more.svm"
    data.write_bytes(b"".join(lines))
    more.write_bytes(b"".join(lines[1:40]))
    files = "-o", tmp_path / "r.html", "--csv", tmp_path / "r.csv"
    run.ok("report", data, "--fully-labelled", more, *files)
    assert "96 records with 84 labels" in (tmp_path / "r.html").read_text()
    assert "\nall,,,84," in (tmp_path / "r.csv").read_text()


def test_the_data_are_read_once(run, made, tmp_path):
    result = run.ok("report", "-", "-o", tmp_path / "r.html", "--json", stdin=few_lines(made))
    assert json.loads(result.stdout)["frequency"]["instances"] == 96
    assert "Missing labels in standard input" in (tmp_path / "r.html").read_text()
