"""Which cluster is meant, and what its workers read. Whatever answers there, it is one clear error, and soon."""

import gc
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

import pytest
from dask import config
from distributed import Client

from mpu_cli.cluster import Address, absolute
from mpu_cli.cluster.dask_executor import connected
from mpu_cli.errors import ClusterError, InputError
from mpu_cli.runtime.run import Run

TIMEOUT = 0.5
# Far more than an error takes, and far less than what Dask waits for.
SOON = 20.0


def refused(address: Address, said: str) -> None:
    start, steps = time.monotonic(), []
    run = Run(step=lambda name: nullcontext(steps.append(name)))
    with config.set({"mpu.timeout": TIMEOUT}), pytest.raises(ClusterError, match=said), connected(address, run):
        pass
    assert steps == ["connecting to the cluster"]
    assert time.monotonic() - start < SOON


@contextmanager
def listening(answer: bytes | None) -> Iterator[str]:
    """Listen, and say the same to everyone; nothing, for None."""
    connections = []

    def accept() -> None:
        with suppress(OSError):  # until it is closed
            while True:
                connection, _ = server.accept()
                connections.append(connection)
                if answer is not None:
                    connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=accept, daemon=True).start()
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
    for connection in connections:
        connection.close()


GARBAGE = {
    "nothing": None,
    "ones": b"\xff" * 64,
    "a message of a terabyte": (1 << 40).to_bytes(8, "little"),
    "text": b"HTTP/1.0 400 Bad request\r\n\r\n",
    "another message": (17).to_bytes(8, "little") + (1).to_bytes(8, "little") + (1).to_bytes(8, "little") + b"\x05",
}


@pytest.mark.parametrize("name", GARBAGE)
def test_what_is_no_scheduler(name):
    with listening(GARBAGE[name]) as address:
        refused(Address(address), f"^no Dask cluster answers at {address}: .")


ADDRESSES = '["tcp://a:1"]', '""', '"http://a:1"', '"inproc://1/2/3"', '"tcp://[:1"', '"tcp://127.0.0.1:99999"'


@pytest.mark.parametrize(
    "content", [b"[" * 100_000, b"\xff", b"", *(f'{{"address": {address}}}'.encode() for address in ADDRESSES)]
)
def test_a_file_that_is_no_schedulers(tmp_path, content):
    (tmp_path / "a.json").write_bytes(content)
    refused(Address(tmp_path / "a.json"), r"^no Dask cluster answers at .*: .")


@pytest.mark.slow
def test_a_link_to_the_file_of_a_scheduler_is_followed(processes, tmp_path):
    (tmp_path / "a.json").symlink_to(processes.file)
    with config.set({"mpu.timeout": 30}), connected(Address(tmp_path / "a.json")) as executor:
        assert executor.workers


@pytest.mark.slow  # it waits
def test_a_scheduler_that_stops_in_the_middle_of_work(processes):
    start = time.monotonic()
    try:
        with (
            pytest.raises(ClusterError, match=r"^the cluster has had no scheduler for 1 seconds$"),
            config.set({"mpu.timeout": 1}),
            connected(Address(processes.address)) as executor,
        ):
            os.kill(processes.scheduler.pid, signal.SIGSTOP)
            assert executor.workers == 0
            executor.gather([executor.submit(abs, -1)])
    finally:
        os.kill(processes.scheduler.pid, signal.SIGCONT)
    assert time.monotonic() - start < SOON


def test_a_file_that_is_not_there(tmp_path):
    refused(Address(tmp_path / "none.json"), r"^no Dask cluster answers at .*none\.json: there is no such file$")


def test_an_error_that_no_one_waits_for_any_more_is_not_printed(caplog):
    """As that of a message that Dask was about to send when its event loop stopped."""
    before = set(Client._instances)
    with connected(Address(workers=1)):
        (client,) = set(Client._instances) - before
        waited_for = client.loop.asyncio_loop.create_future()
    waited_for.set_exception(TimeoutError("Timeout"))
    del waited_for, client
    gc.collect()
    assert not [record for record in caplog.records if record.name == "asyncio"]


MEANT = {
    "local": Address(),
    "local:3": Address(workers=3),
    "local:3:2": Address(workers=3, threads=2),
    "tcp://scheduler:8786": Address("tcp://scheduler:8786"),
    "tls://10.0.0.1:8786": Address("tls://10.0.0.1:8786"),
    "run/scheduler.json": Address(Path("run/scheduler.json")),
}


def test_a_cluster_is_named_in_four_ways():
    assert {text: Address.parse(text) for text in MEANT} == MEANT
    assert all((meant.scheduler is None) == text.startswith("local") for text, meant in MEANT.items())


def test_a_file_has_its_full_name_and_a_url_has_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert absolute("a b.svm") == str(tmp_path / "a b.svm")
    assert absolute("https://example.org/a.svm") == "https://example.org/a.svm"


@pytest.mark.parametrize("source", ["pipe", "/dev/stdin", "/dev/fd/63", "/proc/self/fd/0", "/proc/17/fd/3"])
def test_a_stream_of_this_process_is_refused(tmp_path, source):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match=f"{source}: is a stream, which workers of a cluster cannot read"):
        absolute(str(tmp_path / source))
    assert absolute(str(tmp_path / "none.svm")) == str(tmp_path / "none.svm")
    assert absolute("/dev/shm/a.svm") == str(Path("/dev/shm/a.svm"))


@pytest.mark.slow  # a cluster of its own
def test_a_folder_of_workers_is_removed_while_they_write(tmp_path):
    removed = threading.Event()

    def write() -> None:
        number = 0
        with suppress(FileNotFoundError):
            while True:
                (folder / str(number)).touch()
                number += 1
        removed.set()

    with config.set({"temporary-directory": str(tmp_path)}), connected(Address(workers=1)):
        (folder,) = tmp_path.glob("mpu-*")
        threading.Thread(target=write, daemon=True).start()
    assert removed.wait(SOON)
    assert not folder.exists()
