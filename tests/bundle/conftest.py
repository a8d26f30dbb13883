import pytest

from mpu_cli import bundle
from tests.bundle.models import make_model


@pytest.fixture
def path(tmp_path):
    return tmp_path / "news.mpu"


@pytest.fixture
def saved(path):
    bundle.save(make_model(), path)
    return path
