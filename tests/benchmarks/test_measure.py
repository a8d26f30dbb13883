import sys
import time
from pathlib import Path

import pytest

from benchmarks import measure
from benchmarks.measure import FailedError
from tests.golden import refused


def python(code: str, timeout: float = 20) -> measure.Usage:
    return measure.run([sys.executable, "-c", code], timeout)


def test_time_and_memory_of_a_process():
    usage = python("x = bytearray(b'1') * 60_000_000; import time; time.sleep(0.2)")
    assert 0.2 < usage.seconds < 20
    assert usage.max_rss > 60_000_000
    if Path("/proc/self/status").exists():
        assert 60_000_000 < usage.anonymous < 2 * 60_000_000


@pytest.mark.slow
def test_processor_time_is_that_of_work_and_not_of_waiting():
    waited, worked = python("import time; time.sleep(0.5)"), python("sum(range(30_000_000))")
    assert waited.cpu_seconds < 0.4
    assert worked.cpu_seconds > waited.cpu_seconds + 0.1


@pytest.mark.parametrize(
    "code", ["import sys; print('one', file=sys.stderr); sys.exit('two')", "import os; os.kill(os.getpid(), 9)"]
)
def test_a_failure_is_told_in_a_line(code):
    with refused(FailedError):
        python(code)


def test_a_process_that_takes_too_long_is_killed():
    start = time.perf_counter()
    with refused(FailedError):
        python("import time; time.sleep(60)", timeout=0.3)
    assert time.perf_counter() - start < 30


def test_micro_f1_counts_labels_over_all_instances(tmp_path):
    truth, predictions = tmp_path / "truth.svm", tmp_path / "predictions.txt"
    truth.write_text("1,2 1:0.5\n 3:1\n2:0.5 7:1\n12 1:1\n")
    predictions.write_text("2,1\n5\n\n2\n")
    assert measure.micro_f1(truth, predictions) == pytest.approx(2 * 2 / (3 + 4))
