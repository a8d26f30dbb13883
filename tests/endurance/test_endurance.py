"""A few rounds of what `make endurance` does for long."""

import pytest

from tests.endurance import nights
from tests.endurance.load import predict_while_training

pytestmark = pytest.mark.slow


def test_a_killed_night_loses_no_model(tmp_path):
    assert nights.survive(1, seed=1, folder=tmp_path)["kills"] == 1


def test_predictions_during_trainings_are_those_of_a_whole_model(tmp_path):
    done = predict_while_training(processes=4, seconds=1, folder=tmp_path)
    assert done["trainings"]
    assert done["predictions with model 0"] + done["predictions with model 1"]
