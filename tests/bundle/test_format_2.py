"""Manifests of format 2, which had lists of labels."""

from dataclasses import replace

import pytest

from mpu_cli import bundle
from mpu_cli.errors import ModelError
from tests.bundle.models import LISTS, assert_same, edit, make_model
from tests.golden import refused

DAMAGE = {
    "fewer labels": {"labels": [0, 7]},
    "fewer c": {"c": [0.4, 1]},
    "fewer thresholds": {"thresholds": [0.5]},
    "no labels": {"labels": [], "c": [], "thresholds": []},
    "labels out of order": {"labels": [7, 0, 9]},
    "label twice": {"labels": [0, 7, 7]},
    "negative label": {"labels": [-1, 7, 9]},
    "label a float": {"labels": [0, 7.5, 9]},
    "label a text": {"labels": ["0", "7", "9"]},
    "label a truth": {"labels": [False, 7, 9]},
    "label huge": {"labels": [0, 7, 10**30]},
    "label a huge float": {"labels": [0, 7, 1e300]},
    "labels a number": {"labels": 3},
    "labels nested": {"labels": [[0], [7], [9]]},
    "labels ragged": {"labels": [0, [7], 9]},
    "labels null": {"labels": None},
    "c zero": {"c": [0, 1, 1]},
    "c above one": {"c": [1.5, 1, 1]},
    "c negative": {"c": [-1, 1, 1]},
    "c not a number": {"c": [float("nan"), 1, 1]},
    "c null": {"c": [None, 1, 1]},
    "c a text": {"c": ["0.5", 1, 1]},
    "c a truth": {"c": [True, 1, 1]},
    "c huge": {"c": [10**400, 1, 1]},
    "c one text": {"c": "0.5"},
    "threshold a text": {"thresholds": ["0.5", "0.5", "0.5"]},
    "threshold not a number": {"thresholds": [float("nan"), 0.5, 0.5]},
    "threshold infinite": {"thresholds": [float("inf"), 0.5, 0.5]},
    "threshold beyond float32": {"thresholds": [1e300, 0.5, 0.5]},
    "threshold above one": {"thresholds": [1.5, 0.5, 0.5]},
    "label beyond the file format": {"labels": [0, 7, 2**31 - 1]},
    "labels missing": {"labels": ...},
    "c missing": {"c": ...},
    "predictor a list": {"predictor": []},
    "levels missing": {"predictor": {"scale": 0.3, "frequencies": None}},
    "levels a float": {"predictor": {"levels": 2.0, "scale": 0.3, "frequencies": None}},
    "levels a truth": {"predictor": {"levels": True, "scale": 0.3, "frequencies": None}},
    "more levels": {"predictor": {"levels": 10**12, "scale": 0.3, "frequencies": None}},
    "features null": {"features": None},
}


@pytest.mark.parametrize("changes", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_manifest_of_format_2_is_an_error_that_names_it(saved_2, changes):
    edit(saved_2, **changes)
    with refused(ModelError):
        bundle.load(saved_2)


def test_an_undamaged_edit_of_format_2_still_loads(saved_2):
    edit(saved_2, **LISTS)
    model = bundle.load(saved_2)
    assert model.label_ids.tolist() == LISTS["labels"]
    assert_same(replace(model, label_ids=make_model().label_ids, predictor=make_model().predictor), make_model())
