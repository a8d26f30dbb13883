"""Tasks for Label Studio, and its export read back. Both formats are described in its guide."""

import copy
import json
from io import BytesIO

import numpy as np
import pytest

from mpu_cli.review.decisions import Lines, read, write
from mpu_cli.review.matching import match
from mpu_cli.svmlight import reader
from tests.cli.training import message


@pytest.fixture
def tasks(run, news, tmp_path):
    """Instances 1 (music, Bücher suggested), 4 (sports) and 2 (the arts), as tasks."""
    target = tmp_path / "tasks.json"
    given = "--suggestions", tmp_path / "missing.tsv", "--text", tmp_path / "texts", "--labels", tmp_path / "tags"
    result = run("review", news, *given, "--export", "label-studio", "-o", target)
    assert result.exit_code == 0, result.stderr
    return json.loads(target.read_text())


@pytest.fixture
def imported(run, tmp_path):
    """Import an export; give click's Result and the path of the decisions."""

    def done(export, *options):
        (tmp_path / "export.json").write_text(export if isinstance(export, str) else json.dumps(export))
        path = tmp_path / "checked.tsv"
        return run("review", "--import", tmp_path / "export.json", "-o", path, *options), path

    return done


def annotated(task: dict, *results: dict, **fields) -> dict:
    """What Label Studio exports of a task with one more annotation."""
    task = copy.deepcopy(task)
    parts = [{"id": "x", "to_name": "text", "origin": "manual", **result} for result in results]
    annotation = {"id": 1, "completed_by": 1, "was_cancelled": False, "ground_truth": False, "result": parts, **fields}
    task["annotations"] = [*task.get("annotations", []), annotation]
    return {"id": 7, "created_at": "2026-01-01T00:00:00Z", "drafts": [], **task}


def chosen(*names: str) -> dict:
    return {"from_name": "labels", "type": "choices", "value": {"choices": list(names)}}


COMPLETE = {"from_name": "complete", "type": "choices", "value": {"choices": ["Nothing else is true"]}}


def others(*texts: str) -> dict:
    return {"from_name": "others", "type": "textarea", "value": {"text": list(texts)}}


def cells(path) -> list[tuple]:
    decisions = read([path])
    columns = decisions.instance + 1, decisions.label, decisions.verdict, decisions.is_sample
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_tasks_with_pre_annotations(tasks):
    first = tasks[0]
    assert first["data"]["text"] == "Of football."
    assert first["data"]["options"] == [
        {"value": "sports", "hint": "annotated"},
        {"value": "the arts", "hint": "annotated"},
        {"value": "music", "hint": "suggested, 0.81"},
        {"value": "Bücher", "hint": "suggested, 0.25"},
    ]
    (prediction,) = first["predictions"]
    assert prediction["score"] == 0.8125
    (result,) = prediction["result"]
    assert (result["from_name"], result["to_name"], result["type"]) == ("labels", "text", "choices")
    assert result["value"] == {"choices": ["sports", "the arts", "music"]}
    assert [task["data"]["instance"] for task in tasks] == [1, 4, 2]


def test_the_help_shows_the_interface_that_the_tasks_need(run):
    from mpu_cli.review.label_studio import CONFIG

    text = run("review", "--help").stdout
    assert all(line.strip() in text for line in CONFIG.splitlines())


def test_what_was_decided_there_is_read_back(tasks, imported, news):
    export = [
        annotated(tasks[0], chosen("sports", "the arts", "Bücher"), COMPLETE),
        annotated(tasks[1], chosen("the arts", "sports"), others("music", "4")),
        tasks[2] | {"annotations": []},
    ]
    result, path = imported(export)
    assert "there is no label called 'music' among its options" in message(result)  # names come with --labels
    result, path = imported(export, "--labels", news.parent / "tags")
    assert result.exit_code == 0, result.stderr
    assert result.stderr.endswith(
        "3 tasks, 1 of them without annotation: 9 decisions; 1 instance with complete labels\n"
    )
    assert cells(path) == [
        (1, -1, False, False),
        (1, 1, True, False),
        (1, 2, False, False),
        (1, 3, True, False),
        (1, 4, True, False),
        (4, 1, True, False),
        (4, 2, True, False),
        (4, 3, True, False),
        (4, 4, True, False),
    ]
    assert match(read([path]), reader.read(news), news).confirmed == 4
    of_first = {-1: 0, 1: -1, 2: 0, 3: -1, 4: 0}  # nothing was claimed of what is annotated
    assert read([path]).origin.tolist() == [*of_first.values(), 0, -1, -1, -1]  # music, Bücher: no options
    claimed = dict(zip(zip(*np.array(cells(path)).T[:2], strict=True), read([path]).probability, strict=True))
    assert {cell: claim for cell, claim in claimed.items() if claim == claim} == {
        (1, 2): 0.8125,
        (1, 4): 0.25,
        (4, 1): 0.5,
    }


def test_a_sample_stays_one(run, news, tmp_path, imported):
    target = tmp_path / "tasks.json"
    assert run("review", news, "--sample", 2, "--export", "label-studio", "-o", target).exit_code == 0
    tasks = json.loads(target.read_text())
    assert "Label" not in tasks[0]["data"]["text"]
    names = [[option["value"] for option in task["data"]["options"]] for task in tasks]
    result, path = imported(
        [annotated(task, chosen(*those), COMPLETE) for task, those in zip(tasks, names, strict=True)]
    )
    assert result.exit_code == 0, result.stderr
    assert len(match(read([path]), reader.read(news), news).sampled) == 2


def test_labels_of_one_name_are_told_apart(run, news, tmp_path, imported):
    (tmp_path / "tags").write_text("same\nother\nsame\n")
    target = tmp_path / "tasks.json"
    assert run("review", news, "--labels", tmp_path / "tags", "--export", "label-studio", "-o", target).exit_code == 0
    task = json.loads(target.read_text())[0]
    assert [option["value"] for option in task["data"]["options"]] == ["same (1)", "same (3)"]
    result, path = imported([annotated(task, chosen("same (1)", "same (3)"))])
    assert [cell[1] for cell in cells(path)] == [1, 3]
    result, _ = imported([annotated(task, others("same"))], "--labels", tmp_path / "tags")
    message(result)


def test_ground_truth_outweighs_and_cancelled_annotations_do_not_count(tasks, imported):
    twice = annotated(annotated(tasks[1], chosen("the arts")), chosen("the arts", "sports"), ground_truth=True)
    result, path = imported([annotated(twice, chosen(), was_cancelled=True)])
    assert result.exit_code == 0, result.stderr
    assert cells(path) == [(4, 1, True, False), (4, 3, True, False)]


def test_annotations_that_contradict_each_other(tasks, imported):
    result, path = imported([annotated(annotated(tasks[1], chosen("the arts")), chosen("the arts", "sports"))])
    assert "export.json: " in message(result)
    assert not path.exists()


def broken(task: dict, **data) -> dict:
    task = annotated(task, chosen("the arts"))
    return task | {"data": task["data"] | data}


@pytest.mark.parametrize(
    "export, words",
    [
        ("{", "this is not JSON"),
        ("[" * 100_000, "this is not JSON"),
        ("{}", "not a list of tasks"),
        ([3], "task 1 is not one that mpu review has made"),
        ([{"text": "JSON-MIN", "labels": "sports"}], "task 1 is not one"),
        (lambda task: [broken(task, instance=0)], "task 1 is not one"),
        (lambda task: [broken(task, instance="1")], "task 1 is not one"),
        (lambda task: [broken(task, source="else")], "task 1 is not one"),
        (lambda task: [broken(task, checksum=None)], "task 1 is not one"),
        (lambda task: [broken(task, labels=[1])], "task 1"),
        (lambda task: [broken(task), broken(task, checksum="0" * 64)], "tasks of several files"),
        (lambda task: [annotated(task, chosen("painting"))], "the choice 'painting' is none of its options"),
        (
            lambda task: [annotated(task, chosen("x" * 10**6))],
            "the choice 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'",
        ),
        (
            lambda task: [annotated(task, others("x" * 10**6))],
            "no label called 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'",
        ),
        (
            lambda task: [broken(task, instance=10**30)],
            f"task 1 is not one that mpu review has made and Label Studio "
            f"has exported in its format JSON: instance '{10**30}' is no number of an instance; they count from 1",
        ),
        (lambda task: [broken(task, instance=True)], "task 1 is not one"),
        (lambda task: [broken(task, instance=1.0)], "task 1 is not one"),
        (lambda task: [broken(task, labels=[-5, 1])], "label '-5' is no label"),
        (lambda task: [broken(task, labels=[10**12, 1])], "label '1000000000000' is no label"),
        (lambda task: [broken(task, labels=[2**31 - 1, 1])], "label '2147483647' is no label"),
        (lambda task: [broken(task, labels=["3", 1])], "task 1 is not one"),
        (lambda task: [broken(task, labels=[3.7, 1])], "task 1 is not one"),
        (lambda task: [broken(task, labels=[3, 3])], "its options are not its labels"),
        (lambda task: [broken(task, checksum="0" * 64 + "\n1\t7\tyes\tsample")], "the checksum is damaged"),
        (lambda task: [broken(task, checksum="\ud800" * 64)], "the checksum is damaged"),
        (lambda task: [broken(task, source="sample\n1\t7\tyes\tsample")], "task 1 is not one"),
        (
            lambda task: [broken(task), annotated(task, chosen("sports"))],
            "task 2: it contradicts another task of instance 4",
        ),
    ],
)
def test_refuses(tasks, imported, export, words):
    result, path = imported(export(tasks[1]) if callable(export) else export)
    assert words in message(result)
    assert not path.exists()


@pytest.mark.parametrize(
    "name", ["x\n1\t7\tyes\tsample", "x\r1\t7\tyes\u2028\x85", "\ud800\x1b[2J", "a\n# checksum " + "0" * 64]
)
def test_a_name_of_a_file_adds_nothing_to_the_decisions(tasks, imported, name):
    result, path = imported([broken(tasks[1], file=name)])
    assert result.exit_code == 0, result.stderr
    head, checksum, *rows = path.read_text().splitlines()
    assert (
        head.startswith("# review of ")
        and head.isprintable()
        and checksum == f"# checksum {tasks[1]['data']['checksum']}"
    )
    assert len(rows) == 3 and cells(path) == [(4, 1, False, False), (4, 3, True, False)]


def test_nobody_can_write_a_line_break_into_decisions():
    cell = np.array([0]), np.array([7])
    for odd in ("yes\n2\t7\tyes", "yes\t", "maybe"):
        for of_lines in ({"verdict": odd}, {"source": [odd]}):
            with pytest.raises(ValueError):
                write(BytesIO(), Lines(*cell, **of_lines))
        with pytest.raises(ValueError):
            write(BytesIO(), Lines(*cell), checksum="0" * 64 + odd)


def test_a_field_that_nobody_filled_in_says_nothing(tasks, imported):
    nothing = {**COMPLETE, "value": {"choices": []}}
    result, path = imported([annotated(tasks[1], chosen("the arts"), others("", "  \n "), nothing)])
    assert result.exit_code == 0, result.stderr
    assert cells(path) == [(4, 1, False, False), (4, 3, True, False)]
