import pytest
from click.testing import CliRunner

from benchmarks.serve import CLIENTS, main
from tests.cli.training import QUICK, TINY

for package in ("starlette", "uvicorn"):
    pytest.importorskip(package)


@pytest.mark.slow  # a service as a process
def test_every_number_of_clients_has_a_row_and_the_model_is_replaced(run, tmp_path):
    (tmp_path / "tiny.svm").write_text(TINY)
    assert run("train", tmp_path / "tiny.svm", *QUICK, "-q").exit_code == 0
    arguments = [str(tmp_path / "tiny.mpu"), str(tmp_path / "tiny.svm"), "--requests", "60", "--growth", "20"]
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    rows = [line.split(" | ") for line in result.output.splitlines() if line.startswith("|")][2:]
    assert [row[0] for row in rows[:-1]] == [f"| {clients}" for clients in CLIENTS]
    assert "the model is replaced" in rows[-1][0]
    assert "after 20 requests more" in result.output
