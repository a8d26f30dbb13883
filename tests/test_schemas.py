"""The schemas of docs/schemas are sound, are all listed, and leave no field open; `run` holds the commands to them."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from docs.report_schemas import REPORTS, schema_of
from mpu_cli import bundle
from mpu_cli.bundle.manifest import FORMAT_VERSION
from mpu_cli.cli.progress import by_name
from mpu_cli.runtime.steps import Step
from tests.bundle.models import make_model, make_model_in_strata, make_sparse_model
from tests.bundle.test_fixtures import FIXTURES
from tests.conftest import ROOT
from tests.printed import SCHEMAS, assert_run_valid, assert_valid

PAGE = (ROOT / "docs" / "reports.md").read_text()
# Options of a training, in whatever form a method or an earlier version has them.
OPEN = {"options", "trainings", "report"}


def open_objects(schema, path=()):
    if isinstance(schema, list):
        return [found for item in schema for found in open_objects(item, path)]
    if not isinstance(schema, dict):
        return []
    closed = {"additionalProperties", "unevaluatedProperties"} & schema.keys()
    found = [path] if schema.get("type") == "object" and not closed else []
    return found + [deep for key, value in schema.items() for deep in open_objects(value, (*path, key))]


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_sound_listed_and_closed(name):
    Draft202012Validator.check_schema(SCHEMAS[name])
    assert f"(schemas/{name}.schema.json)" in PAGE
    assert not [path for path in open_objects(SCHEMAS[name]) if not OPEN & set(path)]


@pytest.mark.parametrize("name", REPORTS)
def test_a_schema_is_that_of_the_report(name):
    assert SCHEMAS[name] == schema_of(name), "python -m docs.report_schemas writes it anew"


def test_a_field_that_is_new_or_gone_or_has_another_name_is_an_error(run, tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1\n2 2:1\n" * 9)
    report = json.loads(run("train", tmp_path / "a.svm", "--c", 0.5, "--cost", 30, "--epochs", 2, "--json").stdout)
    for change in (lambda r: r | {"new": 1}, lambda r: r | {"labels": "2"}, lambda r: {**r, "c_by_people": {}}):
        with pytest.raises(AssertionError, match=r"train\.schema\.json"):
            assert_valid("train", change(report))
    with pytest.raises(AssertionError, match="'warnings' is a required property"):
        assert_run_valid(["train", "--json"], 0, json.dumps({k: v for k, v in report.items() if k != "warnings"}), "")


@pytest.mark.parametrize("make", [make_model, make_model_in_strata, make_sparse_model])
def test_manifests(make, tmp_path):
    bundle.save(make(), tmp_path / "a.mpu")
    assert_valid("manifest", json.loads((tmp_path / "a.mpu" / "manifest.json").read_text()))


@pytest.mark.parametrize("path", sorted(FIXTURES.glob(f"v{FORMAT_VERSION}/*/model")), ids=lambda path: path.parent.name)
def test_manifests_of_this_version_that_were_written_before(path: Path):
    assert_valid("manifest", json.loads((path / "manifest.json").read_text()))


def test_steps_are_listed():
    (listed,) = (block for block in PAGE.split("```") if "reading data" in block)
    assert listed.splitlines()[1:] == [
        *sorted({step.doing for step in Step}),
        "learning level N",
        "predicting level N out of fold",
    ]
    named = SCHEMAS["common"]["$defs"]["step"]["anyOf"][0]["enum"]
    assert named == sorted({step.doing for step in Step})


def test_steps_that_share_a_name_add_up():
    assert by_name({"train": 1.0, "level 0": 4.0, "ascend": 2.0}) == {"learning": 3.0, "learning level 1": 4.0}
