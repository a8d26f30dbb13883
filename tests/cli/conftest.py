import pytest

from tests.cli.training import TINY


@pytest.fixture
def tiny(tmp_path):
    path = tmp_path / "tiny.svm"
    path.write_text(TINY)
    return path
