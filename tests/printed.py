"""What the commands print and write as JSON is as docs/schemas says; the fixture `run` checks all of it by this."""

import json
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from referencing import Registry, Resource

SCHEMAS = {
    path.name.removesuffix(".schema.json"): json.loads(path.read_text())
    for path in (Path(__file__).parent.parent / "docs" / "schemas").glob("*.json")
}
_REGISTRY = Registry().with_resources((schema["$id"], Resource.from_contents(schema)) for schema in SCHEMAS.values())


@cache
def _validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(SCHEMAS[name], registry=_REGISTRY)


def assert_valid(name: str, value: Any) -> None:
    """Fail where a value is not what a schema says, or has a field that it does not name."""
    error = best_match(_validator(name).iter_errors(value))
    assert error is None, f"docs/schemas/{name}.schema.json, {error.json_path}: {error.message}"


def assert_run_valid(args: list[str], code: int, stdout: str, stderr: str) -> None:
    """Check what a command has printed and, of a training, written."""
    if ("--log-format", "json") in pairwise(args):
        for line in stderr.splitlines():
            assert_valid("log-line", json.loads(line))
    if "--json" not in args or code not in (0, 3):
        return
    report = json.loads(stdout)
    assert_valid(_report(args[0], report), report)
    if args[0] == "train":
        if (manifest := Path(report["model"]) / "manifest.json").exists():
            assert_valid("manifest", json.loads(manifest.read_text()))
        if "--history" in args:
            lines = Path(args[args.index("--history") + 1]).read_text().splitlines()
            assert_valid("history-line", json.loads(lines[-1]))


def _report(command: str, report: dict) -> str:
    if command == "evaluate" and "compared" in report:
        return "comparison"
    if command == "info" and "trainings" in report:
        return "history"
    return "questions" if command == "suggest" and "questions" in report else command


def assert_close(one: dict, other: dict) -> None:
    """Fail where two reports have other warnings, or numbers that are not the same up to rounding."""
    assert one["warnings"] == other["warnings"]
    assert {**one, "warnings": None} == pytest.approx({**other, "warnings": None})
