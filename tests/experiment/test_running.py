import pytest

from mpu_cli.errors import MpuError
from mpu_cli.experiment.design import Design
from mpu_cli.experiment.running import experiment
from mpu_cli.runtime.run import Run
from tests.experiment.small import BR, problem


@pytest.fixture
def source(tmp_path):
    """Sixty instances with four labels."""
    instances = problem()
    path = tmp_path / "small.svm"
    path.write_text(
        "".join(
            f"{','.join(map(str, y.nonzero()[0]))} {' '.join(f'{j}:{value:.4g}' for j, value in enumerate(x, 1))}\n"
            for y, x in zip(instances.labels.toarray(), instances.features.toarray(), strict=True)
        )
    )
    return path


def test_the_folder_is_looked_at_before_anything_is_estimated(source, tmp_path):
    def go(seed):
        seconds: dict[str, float] = {}
        run = Run(seed=seed).timed(seconds)
        try:
            design = Design(methods=(BR,), missing_rates=(0.0,), folds=2, seed=seed)
            experiment([str(source)], tmp_path / "out", design, run=run)
        except MpuError as error:
            return str(error), set(seconds)
        return "", set(seconds)

    assert go(0) == ("", {"read", "estimate c", "cells"})
    error, steps = go(1)
    assert "seed 0, now 1" in error
    assert steps == {"read"}
