"""Times of `mpu serve`: one instance a request, from several clients at a time, also while the model is replaced."""

import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count, cycle, islice
from pathlib import Path
from typing import BinaryIO

import click
import numpy as np

from benchmarks import machine
from benchmarks.report import MEGABYTE
from mpu_cli import bundle
from mpu_cli.svmlight.reader import iter_chunks

CLIENTS = (1, 8, 50)
_SECONDS_BETWEEN_MODELS = 1.0
_MOST_BODIES = 1000


def bodies(data: Path) -> list[bytes]:
    """Make requests of a file of instances (.svm) or of records with texts (.jsonl)."""
    if data.suffixes[-1] == ".jsonl":
        with data.open() as lines:
            return [json.dumps({"texts": [json.loads(line)["text"]]}).encode() for line in islice(lines, _MOST_BODIES)]
    features = next(iter_chunks(data)).features[:_MOST_BODIES]
    rows = zip(
        np.split(features.indices, features.indptr[1:-1]), np.split(features.data, features.indptr[1:-1]), strict=True
    )
    instances = (dict(zip(map(str, index), value.tolist(), strict=True)) for index, value in rows)
    return [json.dumps({"instances": [instance]}).encode() for instance in instances]


@contextmanager
def serving(model: Path) -> Iterator[tuple[int, int]]:
    """Start the command; give its port and the id of its process."""
    command = [sys.executable, "-m", "mpu_cli", "serve", str(model), "--port", "0"]
    with tempfile.TemporaryFile() as log, subprocess.Popen(command, stderr=log) as process:
        try:
            while not (found := re.search(rb"answers at http://[^:]+:(\d+)", _content(log))):
                if process.poll() is not None:
                    raise click.ClickException(_content(log).decode())
                time.sleep(0.05)
            yield int(found[1]), process.pid
        finally:
            process.terminate()


def _content(log: BinaryIO) -> bytes:
    return os.pread(log.fileno(), 10_000, 0)  # the process writes on at the place that a seek would change


def ask(port: int, requests: list[bytes], clients: int, n: int) -> tuple[np.ndarray, float]:
    """Send n requests from some clients, each with a connection of its own; give the time of each, and of all."""
    numbers, seconds, start = count(), np.zeros(n), time.perf_counter()

    def client() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while (number := next(numbers)) < n:
            begin = time.perf_counter()
            connection.request("POST", "/predict", requests[number % len(requests)])
            answer = connection.getresponse()
            answer.read()
            seconds[number] = time.perf_counter() - begin
            if answer.status != 200:
                raise click.ClickException(f"status {answer.status}")
        connection.close()

    threads = [threading.Thread(target=client) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if not seconds.all():
        raise click.ClickException("a client has failed")
    return seconds, time.perf_counter() - start


@contextmanager
def replaced(path: Path) -> Iterator[list[float]]:
    """Replace a model again and again, by two that predict the same; give the list of when that was."""
    first, end, times = bundle.load(path), threading.Event(), []
    models = [replace(first, options=first.options | {"copy": copy}) for copy in (1, 2)]

    def work() -> None:
        for model in cycle(models):
            bundle.save(model, path)
            times.append(time.time())
            if end.wait(_SECONDS_BETWEEN_MODELS):
                return

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield times
    finally:
        end.set()
        thread.join()


def resident_bytes(process: int) -> int:
    """Return the resident memory of a process."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def row(name: str, measured: tuple[np.ndarray, float]) -> str:
    """Return a row of the table."""
    seconds, total = measured
    p50, p99 = 1000 * np.quantile(seconds, [0.5, 0.99])
    return f"| {name} | {p50:.1f} | {p99:.1f} | {len(seconds) / total:,.0f} |"


@click.command(context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.argument("model", type=click.Path(path_type=Path, exists=True))
@click.argument("data", type=click.Path(path_type=Path, exists=True))
@click.option("--requests", "n", type=click.IntRange(min=1), default=2000, help="Of each row.")
@click.option("--growth", type=click.IntRange(min=1), default=10_000, help="Requests between two looks at the memory.")
def main(model: Path, data: Path, n: int, growth: int) -> None:
    """Print a table of times of `mpu serve MODEL`, asked for one instance (.svm) or text (.jsonl) of DATA at a time.

    The clients are threads of one process on the same machine. MODEL is copied, and the copy is replaced.

    \b
    Example:
      python -m benchmarks.serve news.mpu news-test.svm
    """
    requests = bodies(data)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "model.mpu"
        bundle.save(bundle.load(model), copy)
        with serving(copy) as (port, process):
            click.echo(f"{machine.describe()}; {len(requests):,} different requests\n")
            click.echo("| clients | p50, ms | p99, ms | requests/s |\n|---|---:|---:|---:|")
            ask(port, requests, 8, n)  # caches of words are filled
            for clients in CLIENTS:
                click.echo(row(str(clients), ask(port, requests, clients, n)))
            with replaced(copy) as times:
                measured = ask(port, requests, 8, n)
            click.echo(row(f"8, and the model is replaced {len(times)} times", measured))
            before = resident_bytes(process)
            ask(port, requests, 8, growth)
            after = resident_bytes(process)
            megabytes = f"{before / MEGABYTE:.1f} MB, and {after / MEGABYTE:.1f} MB"
            click.echo(f"\nResident memory: {megabytes} after {growth:,} requests more.")


if __name__ == "__main__":
    main()
