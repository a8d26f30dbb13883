"""`mpu report`: one page about what is missing, with the numbers of `estimate-c` and `suggest`."""

import csv
import json
import re
from html import unescape
from types import SimpleNamespace

import pytest

from tests.cli.tables import first_lines, write_records

TAGS = ["fruit", "<b>car</b>", "sea & sky"]
NEVER = "ice"  # no record has this tag
TEXTS = ["red apple sweet", "blue car fast", "wide sea deep"]


def report_on_records(run, folder):
    """Records with a topic each, or two; of a part of them the tag is missing."""
    rows = []
    for i in range(240):
        topics = [i % 3, (i + 1) % 3] if i % 8 == 1 else [i % 3]
        text = f"{' '.join(TEXTS[topic] for topic in topics)} {i % 7}{i % 5}"
        rows.append({"id": f"b{i}", "text": text, "tags": [TAGS[topic] for topic in topics] if i % 4 else []})
    books = write_records(folder / "books.jsonl", rows)
    (folder / "names.txt").write_text("".join(f"{name}\n" for name in [*TAGS, NEVER]))
    run.ok("vectorize", books, "-o", folder / "books.svm", "--labels", folder / "names.txt")
    (folder / "groups.txt").write_text("house 0\nhouse 1\n" * 120)
    decided = "b0\tfruit\tyes\nb0\tsea & sky\tno\nb4\t<b>car</b>\tyes\nb8\tfruit\tno\n"
    (folder / "checked.tsv").write_text(f"id\tlabel\tverdict\n{decided}")
    options = "--groups", folder / "groups.txt", "--reviewed", folder / "checked.tsv", "--csv", folder / "r.csv"
    result = run.ok("report", folder / "books.svm", "-o", folder / "r.html", *options, "--top", 7, "--json")
    (folder / "r.json").write_text(result.stdout)


def texts_of(html: str, tag: str) -> list[str]:
    """The texts of all elements with a tag."""
    return [unescape(text) for text in re.findall(f"<{tag}\\b[^>]*>(.*?)</{tag}>", html, re.DOTALL)]


@pytest.fixture
def reported(made):
    folder = made(report_on_records)
    html = (folder / "r.html").read_text()
    with (folder / "r.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    texts = {"cells": texts_of(html, "td"), "headings": texts_of(html, "h2")}
    return SimpleNamespace(html=html, rows=rows, json=json.loads((folder / "r.json").read_text()), **texts)


@pytest.mark.parametrize("by", ["sample", "suggestion"])
def test_complete_records_count_as_all_others(run, made, tmp_path, by):
    """The annotations and the missing labels are those of the same records, in the report and in `estimate-c`."""
    folder = made(report_on_records)
    header, more = "id\tlabel\tverdict\tsource\n", "" if by == "sample" else "b3\t<b>car</b>\tno\tsuggestion\n"
    complete = (f"b{i}\t{TAGS[i % 3]}\tyes\t{by}\nb{i}\t*\tno\t{by}\n" for i in range(0, 240, 10))
    (tmp_path / "complete.tsv").write_text(header + "".join(complete) + more)
    options = folder / "books.svm", "--reviewed", tmp_path / "complete.tsv"
    report = run.json("report", *options, "-o", tmp_path / "r.html", "--csv", tmp_path / "r.csv")
    with (tmp_path / "r.csv").open(newline="") as file:
        total, *labels = csv.DictReader(file)
    html = (tmp_path / "r.html").read_text()
    share = float(total["missing"]) / (int(total["annotations"]) + float(total["missing"]))
    assert f"<strong>{100 * share:.1f} %</strong> of the true labels are missing" in html
    of_others = f"{report['missing']['missing']:,.0f} of them in records not completely reviewed."
    assert f"about {float(total['missing']):,.0f} are true and not annotated, {of_others}" in html
    if by == "sample":
        estimate = run.json("estimate-c", *options, "--per-label")
        assert float(total["missing"]) == pytest.approx(estimate["missing"])
        assert 1 - share == pytest.approx(estimate["c"])
        assert "Missing share from the annotated labels of the other records alone: " in html
        for row, of_label in zip(labels, estimate["per_label"], strict=False):
            assert int(row["annotations"]) == of_label["annotations"]
            assert float(row["missing"]) == pytest.approx(of_label["missing"])
    else:
        assert float(total["missing"]) == pytest.approx(report["missing"]["missing"] + 12)
    listed = run("suggest", *options, "-o", tmp_path / "more.tsv")
    assert " labels are missing in instances not completely reviewed (" in listed.stderr


def test_the_numbers_are_those_of_the_table(reported):
    assert "true and not annotated," in reported.html
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
        assert row["name"] in reported.cells
        assert f"{float(row['missing']):,.1f}" in reported.cells


def test_rejected_annotations_are_counted_nowhere(run, few, tmp_path):
    rejected = ["instance\tlabel\tverdict\tsource"]
    for number, line in enumerate(few.read_text().splitlines(), 1):
        if "1" in line.partition(" ")[0].split(",") and len(rejected) <= 5:
            rejected.append(f"{number}\t1\tno\tadded")
    (tmp_path / "rejected.tsv").write_text("\n".join(rejected) + "\n")
    (tmp_path / "groups.txt").write_text("house 0\nhouse 1\n" * 48)
    args = few, "--reviewed", tmp_path / "rejected.tsv"
    groups = "--groups", tmp_path / "groups.txt"
    counted = {}
    for more in ((), args[1:3]):
        run.ok("report", args[0], *more, *groups, "-o", tmp_path / "r.html", "--csv", tmp_path / "r.csv", "-q")
        with (tmp_path / "r.csv").open(newline="") as file:
            rows = [(row["of"], int(row["annotations"])) for row in csv.DictReader(file)]
        of_report = [annotations for of, annotations in rows if of == "label"]
        assert sum(annotations for of, annotations in rows if of == "group") == sum(of_report)
        estimate = run.json("estimate-c", args[0], *more, "--per-label", "-q")
        counted[len(more)] = [row["annotations"] for row in estimate["per_label"]]
        assert counted[len(more)] == of_report[: len(counted[len(more)])]
    assert counted[0][0] - counted[2][0] == 5


def test_nothing_is_claimed_of_a_label_that_is_never_annotated(reported):
    """0 missing, from 0 to 0, would say that no record lacks it."""
    (never,) = (row for row in reported.rows if row["name"] == NEVER)
    assert never["annotations"] == "0"
    assert never["missing"] == never["low"] == never["high"] == ""
    of_label = reported.json["missing"]["per_label"][never["number"]]
    assert of_label == {"name": NEVER, "missing": None, "low": None, "high": None}
    assert NEVER not in reported.cells


def test_what_is_missing_is_near_the_truth_and_so_is_the_share_after_decisions(reported):
    """A quarter of the tags were removed, of which two have come back; with how many may be missing."""
    assert reported.json["frequency"]["missing_rate"] == pytest.approx(0.25, abs=0.05)
    assert reported.json["missing"]["missing"] == pytest.approx(58, abs=15)
    assert "house 0" in reported.cells
    there, *missing = (float(reported.rows[0][name]) for name in ("annotations", "missing", "low", "high"))
    share, low, high = (f"{100 * n / (there + n):.1f} %" for n in missing)
    assert f"<strong>{share}</strong> of the true labels" in reported.html
    assert f"(90 % interval {low} to {high}, by c and the decisions)" in reported.html


def test_suggestions_have_names_and_ids(reported):
    suggestions = reported.json["suggestions"]
    assert len(suggestions) == 7
    for one in suggestions:
        assert one["id"] == f"b{one['instance'] - 1}"
        assert one["name"] == TAGS[(one["instance"] - 1) % 3]
        assert f"{one['probability']:.3f}" in reported.cells
        assert one["id"] in reported.cells


def test_it_begins_with_what_to_do_where_the_interval_is_wide(run, digits, tmp_path):
    few = first_lines(digits[0], 80, tmp_path / "all.svm")
    run.ok("corrupt", few, tmp_path / "a.svm", "--missing-rate", 0.6)
    found = run.json("report", tmp_path / "a.svm", "-o", tmp_path / "r.html")
    c, missing = found["frequency"], found["missing"]
    low, high = c["interval"]
    assert high - low > 0.2
    by_c = [c["missing"] / (1 / c["c"] - 1) * (1 / end - 1) for end in (high, low)]
    assert [missing["missing_low"], missing["missing_high"]] == pytest.approx(by_c)  # before any decision
    html = (tmp_path / "r.html").read_text()
    assert html.index("answer 40 questions") < html.index("<h2>")


def test_parts_of_the_page_whose_names_are_text_and_which_fetches_nothing(reported):
    headings = "By group", "By label", "The most probable suggestions", "Reviewed labels", "How this was computed"
    assert reported.headings == list(headings)
    assert "4 decisions: 2 missing labels found" in reported.html
    assert reported.html.count("<svg ") == 5
    assert "every true label is annotated with the same probability" in reported.html
    assert "<b>" not in reported.html
    assert "<b>car</b>" in reported.cells
    for text in ("house 0", "sea &amp; sky", reported.json["suggestions"][0]["id"]):  # in any direction of writing
        assert f'<td dir="auto">{text}</td>' in reported.html
    assert "<script" not in reported.html.lower()
    assert "http" not in reported.html.replace("http-equiv", "")


@pytest.fixture
def few(made, tmp_path):
    """So few of the data that no kernel is tried."""
    return first_lines(made(report_on_records) / "books.svm", 96, tmp_path / "books.svm")


@pytest.mark.slow
def test_records_of_a_second_file_are_not_counted(run, few, tmp_path):
    report = "report", few, "--fully-labelled", first_lines(few, 40, tmp_path / "more.svm")
    said = run.ok(*report, "-o", tmp_path / "r.html", "--csv", tmp_path / "r.csv").stderr
    assert re.search(r"missing \(90 % interval .* to .*%, by 40 instances with complete label sets\)", said)
    assert "96 records with 84 labels" in (tmp_path / "r.html").read_text()
    assert "\nall,,,84," in (tmp_path / "r.csv").read_text()


def test_the_data_are_read_once(run, few, tmp_path):
    report = run.json("report", "-", "-o", tmp_path / "r.html", stdin=few.read_bytes())
    assert report["frequency"]["instances"] == 96
    assert "Missing labels in standard input" in (tmp_path / "r.html").read_text()
