"""`mpu predict` over gigabytes through a pipe: memory stays flat, and no line is lost.

Run as ``python -m tests.endurance.stream --gigabytes 10``. A generated file in the shape of RCV1 is predicted once by
itself, and then again and again as one stream; the output must be that of the file as many times.
"""

import hashlib
import subprocess
import sys
import threading
import time
from functools import partial
from math import ceil
from pathlib import Path
from typing import BinaryIO

import psutil

from benchmarks.corpus import Corpus
from benchmarks.generate import TEST, TRAIN, write
from tests.endurance.commands import run_as_command

TRAINING = ("--c", "0.6", "--cost", "30", "--epochs", "2", "--levels", "2", "--quiet")
MEGABYTE = 10**6
# By how much the memory of a process may move after the first tenth of the stream.
_SLACK = 50 * MEGABYTE


def predict_stream(gigabytes: float, folder: Path, instances: int = 60_000) -> dict[str, int]:
    """Predict a file so often, as one stream, that at least so much goes through.

    Return what went through and how long it took, and the largest resident memory in the first tenth and after it.
    """
    corpus = Corpus()
    train, file, model = folder / "train.svm", folder / "file.svm", folder / "model.mpu"
    write(corpus, TRAIN, 2_000, train)
    write(corpus, TEST, instances, file)
    subprocess.run(_command("train", train, "-o", model, *TRAINING), check=True)
    once = subprocess.run(_command("predict", model, file), stdout=subprocess.PIPE, check=True).stdout
    assert once.count(b"\n") == instances
    times = ceil(gigabytes * 10**9 / file.stat().st_size)

    start = time.perf_counter()
    process = subprocess.Popen(_command("predict", model, "-"), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    feeder = threading.Thread(target=_feed, args=(process.stdin, file, times))
    feeder.start()
    digest, expected, lines, early, late = hashlib.sha256(), hashlib.sha256(), 0, 0, 0
    for block in iter(partial(process.stdout.read, MEGABYTE // 4), b""):
        digest.update(block)
        lines += block.count(b"\n")
        resident = psutil.Process(process.pid).memory_info().rss
        if lines <= instances * times // 10:
            early = max(early, resident)
        else:
            late = max(late, resident)
    feeder.join()
    assert process.wait() == 0, f"status {process.returncode}"
    assert lines == instances * times, f"{lines:,} lines for {instances * times:,} instances"
    for _ in range(times):
        expected.update(once)
    assert digest.digest() == expected.digest(), "other predictions than for the file alone"
    assert late <= early + _SLACK, f"memory grew from {early:,} to {late:,} bytes"
    return {
        "bytes": file.stat().st_size * times,
        "lines": lines,
        "seconds": round(time.perf_counter() - start),
        "memory in the first tenth": early,
        "memory after it": late,
    }


def _command(*args: str | Path) -> list[str]:
    return [sys.executable, "-m", "mpu_cli", *map(str, args)]


def _feed(stream: BinaryIO, file: Path, times: int) -> None:
    data = file.read_bytes()
    with stream:
        for _ in range(times):
            stream.write(data)


if __name__ == "__main__":
    run_as_command(predict_stream, __doc__, gigabytes=1.0)
