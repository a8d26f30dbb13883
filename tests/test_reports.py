"""docs/reports.md has every field that the commands print, and no other; `--update-golden` renews its examples."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import ROOT
from tests.serve.conftest import serving

PAGE = ROOT / "docs" / "reports.md"
# Fields whose own fields have names of their own: options of a training, steps, packages, languages.
OPEN = {
    *("languages", "seconds", "options", "origin.options", "origin.versions", "evaluated[]"),
    *("frequency", "missing", "predictions[].scores"),
}
# Fields that need a cluster, several files, or labels with URIs.
NOT_RUN = ("by_label", "cluster", "predictions[].uris")
QUICK = "--cost", 30, "--epochs", 2, "--levels", 1, "-q"


@pytest.fixture(scope="module")
def printed(run, tmp_path_factory) -> dict[str, list[dict[str, Any]]]:
    """What each command prints for a small collection: the report of its example first."""
    folder = tmp_path_factory.mktemp("reports")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        _write_collection()
        asked = run.json
        found = {
            "vectorize": [asked("vectorize", "notes.jsonl", "-o", "notes.svm", "-q")],
            "suggest --questions": [asked("suggest", "notes.svm", "--questions", 40, "-o", "questions.tsv")],
        }
        asked("vectorize", "new.jsonl", "--like", "notes.text", "-o", "new.svm", "-q")
        _decide("questions.tsv", "questions.tsv")
        open_ones = Path("questions.tsv").read_text().replace("\tno\t", "\t\t", 2)
        Path("skipped.tsv").write_text(open_ones.replace("\t\t", "\tno\t", 1))
        _review("checked.tsv")
        found["estimate-c"] = [
            asked("estimate-c", "notes.svm", "--per-label", "-q"),
            asked("estimate-c", "notes.svm", "--plan", "--reviewed", "questions.tsv", "-q"),
            asked("estimate-c", "notes.svm", "--reviewed", "checked.tsv", "-q"),
            asked("estimate-c", "notes.svm", "--groups", "sources", "-q"),
            asked("estimate-c", "one.svm", "-q"),
        ]
        tested = "--accept-on", "new.svm"
        recorded = "-o", "m.mpu", "--history", "history.jsonl"
        found["train"] = [
            asked("train", "notes.svm", "-q", *tested),
            asked("train", "notes.svm", *QUICK, *tested, *recorded),
            asked("train", "notes.svm", *QUICK, *tested, *recorded, "--reviewed", "skipped.tsv", "--levels", 2),
            asked("train", "notes.svm", *QUICK, "--groups", "sources", "--labels", "names", "--threshold", "per-label"),
            asked("train", "one.svm", *QUICK),
            asked("train", "half.svm", "--levels", 1, "--features", "linear"),
            asked("train", "dense.svm", *QUICK, "--features", "rbf"),
            asked("train", "dense.svm", *QUICK, "--features", "largest"),
        ]
        lines = Path("history.jsonl").read_text().splitlines()
        found["history"] = [json.loads(line) for line in lines[::-1]]
        found["info"] = [asked("info", "notes.mpu"), asked("info", "m.mpu", "--label", "Art")]
        found["suggest"] = [asked("suggest", "notes.svm", "-o", "missing.tsv", "--top", 2, *QUICK)]
        _decide("missing.tsv", "decided.tsv")
        Path("decided.tsv").write_text(Path("decided.tsv").read_text().replace("yes", "no", 1))
        found["suggest"] += [
            asked("suggest", "notes.svm", "-o", "more.tsv", *QUICK, "--reviewed", "skipped.tsv"),
            asked("suggest", "notes.svm", "-o", "more.tsv", *QUICK, "--reviewed", "decided.tsv"),
        ]
        found["report"] = [asked("report", "notes.svm", "-o", "page.html", "--top", 2, "-q")]
        found["apply"] = [asked("apply", "notes.jsonl", "--reviewed", "decided.tsv", "-o", "done.jsonl")]
        found["evaluate"] = [asked("evaluate", "new.svm", "notes.mpu", "-q")]
        options = "--c", 0.9, "--per-label", "--calibration", "--training", "notes.svm"
        run("predict", "notes.mpu", "new.svm", "--format", "scores", "-o", "scores")
        found["evaluate"] += [
            asked("evaluate", "new.svm", "notes.mpu", *options, "-q"),
            asked("evaluate", "new.svm", "scores", "--threshold", 0.5),
            asked("evaluate", "notes.svm", "notes.mpu", "--reviewed", "checked.tsv", "-q"),
        ]
        found["evaluate A B"] = [asked("evaluate", "new.svm", "notes.mpu", "m.mpu", "--c", 0.9, "-q")]
        with serving(Path("notes.mpu")) as service:
            found["serve"] = [service.ask("/predict", {"texts": ["paint paint brush"], "top": 2})[1]]
    return found


def _write_collection() -> None:
    """Write records of three subjects, a third of whose tags is missing; test records with all tags; smaller files."""
    rng = np.random.default_rng(0)
    words = {"Art": ["paint", "brush", "canvas"], "Music": ["chord", "violin"], "Physics": ["quark", "photon", "boson"]}
    for name, n, share in (("notes.jsonl", 120, 0.65), ("new.jsonl", 60, 1)):
        with Path(name).open("w") as file:
            for number in range(n):
                true = [subject for subject in words if rng.random() < 0.4]
                said = [
                    word for subject in words for word in words[subject] if rng.random() < 0.1 + 0.6 * (subject in true)
                ]
                text = " ".join(["the", "and", *said])
                tags = [subject for subject in true if rng.random() < share]
                file.write(json.dumps({"id": f"n{number}", "text": text, "tags": tags, "true": true}) + "\n")
    Path("sources").write_text("library\nmuseum\n" * 60)
    Path("names").write_text("Art\nPhysics\nMusic\nChemistry\n")
    Path("dense.svm").write_text("1 1:1 2:0.5\n2 1:0.5 2:1\n1,2 1:1 2:1\n" * 30)
    Path("half.svm").write_text("".join(f"1,2 1:1 2:0.{i}\n 1:1 2:0.{i}5\n" for i in range(10, 70)))
    Path("one.svm").write_text("1 1:1\n2 2:1\n3 3:1\n" * 30)


def _decide(table: str, target: str) -> None:
    """Decide each line of a table by the labels that are true of its record."""
    true = [json.loads(line)["true"] for line in Path("notes.jsonl").read_text().splitlines()]
    lines = [line for line in Path(table).read_text().splitlines() if not line.startswith("#")]
    columns = lines[0].split("\t")
    for i, line in enumerate(lines[1:], 1):
        values = line.split("\t")
        values[columns.index("verdict")] = "yes" if values[columns.index("label")] in true[int(values[0]) - 1] else "no"
        lines[i] = "\t".join(values)
    Path(target).write_text("\n".join(lines) + "\n")


def _review(target: str) -> None:
    """Decide every label of 40 instances, as `mpu review --sample` draws them."""
    cells = [f"{i}\t{label}\t\tsample" for i in range(1, 41) for label in ("Art", "Music", "Physics")]
    Path(target).write_text("\n".join(["instance\tlabel\tverdict\tsource", *cells]) + "\n")
    _decide(target, target)
    with Path(target).open("a") as file:
        file.writelines(f"{i}\t*\tno\tsample\n" for i in range(1, 41))


def fields_of(value: Any, path: str = "") -> Iterator[str]:
    """Yield the path of each field that has none of its own: in lists after ``[]``, of labels by number as LABEL."""
    if path not in OPEN and isinstance(value, dict) and value:
        for key, inner in value.items():
            name = "METRIC" if path.endswith("differences") else re.sub(r"at_\d", "at_K", key)
            yield from fields_of(inner, f"{path}.{'LABEL' if key.isdigit() else name}".lstrip("."))
    elif path not in OPEN and isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for item in value:
            yield from fields_of(item, path + "[]")
    else:
        yield path


def section(name: str) -> str:
    """Return what the page says of a report."""
    return PAGE.read_text().partition(f"\n## {name}\n")[2].partition("\n## ")[0]


def documented(text: str) -> set[str]:
    """Return the fields of the table of a section. One that begins with a dot is a field of the one before."""
    found, before = set(), ""
    for row in re.findall(r"^\| (`.*?) \|", text, re.M):
        for name in re.findall(r"`(.*?)`", row):
            before = before if name.startswith(".") else name
            found.add(before + name if name.startswith(".") else name)
    return {name for name in found if not any(other.startswith((f"{name}.", f"{name}[]")) for other in found)}


def example(report: dict[str, Any]) -> str:
    """Return a report as the page shows it, field by field: of warnings one, of fields with names of their own two."""
    shown = {
        name: dict(list(value.items())[:2]) if name in OPEN and isinstance(value, dict) else value
        for name, value in report.items()
    }
    if "warnings" in shown:
        shown["warnings"] = shown["warnings"][:1]
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in shown.items())
    return f"```json\n{{\n{lines}\n}}\n```"


NAMES = re.findall(r"^## (.*)", PAGE.read_text(), re.M)[:-2]  # without log lines and steps


@pytest.mark.parametrize("name", NAMES)
def test_the_page_has_the_fields_of_each_report(printed, name, request):
    (shown,) = re.findall(r"```json\n.*?\n```", section(name), re.S)
    if request.config.getoption("update_golden"):
        text = section(name)
        PAGE.write_text(PAGE.read_text().replace(text, text.replace(shown, example(printed[name][0]))))
    else:
        of_example = json.loads(shown.strip("`").removeprefix("json"))
        assert sorted(fields_of(of_example)) == sorted(fields_of(printed[name][0]))
    found = {field for report in printed[name] for field in fields_of(report)}
    fields = documented(section(name))
    containers = {field for field in found if any(other.startswith((f"{field}.", f"{field}[]")) for other in fields)}
    assert found - containers - {"warnings"} == {field for field in fields if not field.startswith(NOT_RUN)}


def test_steps_are_listed():
    source = "".join(file.read_text() for file in (ROOT / "mpu_cli").rglob("*.py"))
    named = " ".join(re.findall(r"(?:\.step|progress)\(([^()]*)", source))
    steps = {name.replace("{number}", "N") for name in re.findall(r'"(\w+ing\b.*?)"', named)}
    assert section("Steps").split("```")[1].splitlines()[1:] == sorted(steps)
