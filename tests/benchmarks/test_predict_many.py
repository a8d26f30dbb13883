import pytest
from click.testing import CliRunner

from benchmarks.predict_many import FORMS, main


@pytest.mark.slow  # six processes of mpu
def test_a_model_and_data_are_made_and_every_format_is_timed(tmp_path):
    arguments = [str(tmp_path / "many.mpu"), str(tmp_path / "many.svm"), "--labels", "600", "--features", "300"]
    result = CliRunner().invoke(main, [*arguments, "--instances", "40", "--repetitions", "1"], catch_exceptions=False)
    assert result.exit_code == 0
    rows = [line.split(" | ") for line in result.output.splitlines() if line.startswith("|")]
    assert [row[0].removeprefix("| ") for row in rows[2:]] == list(FORMS)
    assert "40 instances" in result.output
    lines = (tmp_path / "many.svm.predicted").read_text().splitlines()
    assert len(lines) == 40
    assert all('"labels": ["' in line for line in lines)
