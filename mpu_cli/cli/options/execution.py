"""The options of how a command runs: those that make up a `Run`, those of a cluster, and ``--wait``."""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from mpu_cli.cli.options import Parsed, click_option, click_type
from mpu_cli.cli.output.progress import progress
from mpu_cli.cluster.address import EXPECTED, Address, OnCluster
from mpu_cli.errors import STANDARD_STREAM
from mpu_cli.runtime.options import MOST_BYTES, Real, RunOptions, options_of

if TYPE_CHECKING:
    from mpu_cli.training.training_data import Sources


wait_option = click.option(
    "--wait",
    type=click_type(Real(0)),
    default=0,
    show_default=True,
    metavar="SECONDS",
    help="Wait this long for another training of the same model to end, then exit with status 75.",
)


_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


_SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMGT]?)B?", re.IGNORECASE)


def _size(text: str) -> int:
    """Return a number of bytes: ``500M`` is 500 million."""
    size = _SIZE.fullmatch(text)
    if not size:
        raise ValueError(f"{text!r} is not a size such as 500M or 2G.")
    number, unit = size.groups()
    return round(min(float(number) * _UNITS[unit.upper()], MOST_BYTES))


_OPTIONS: dict[str, Callable[[Callable], Callable]] = {
    **{name: click_option(option) for name, option in options_of(RunOptions).items()},
    "memory": click.option(
        "--memory",
        type=Parsed("size", _size),
        metavar="SIZE",
        help="Memory for large arrays, such as 500M or 2G. Arrays beyond it go to temporary files in $TMPDIR. The "
        "result does not depend on it. Default: half of the free memory.",
    ),
}


def run_options(*names: str) -> Callable[[Callable], Callable]:
    """Add some of ``--seed``, ``--jobs``, ``--kernel`` and ``--memory``; the command gets `run`, a `Run`."""

    def decorate(function: Callable) -> Callable:
        @wraps(function)
        def with_run(*args, **kwargs):
            from mpu_cli.runtime.run import Run

            options = {name: kwargs.pop(name) for name in names}
            if "memory" in options:
                options["empty"] = _workspace(options.pop("memory"))
            return function(*args, run=Run(**options, observe=progress), **kwargs)

        command: Callable = with_run
        for name in reversed(names):
            command = _OPTIONS[name](command)
        return command

    return decorate


def _workspace(memory: int | None) -> Callable:
    from mpu_cli.runtime.storage import Workspace, available_memory

    return Workspace(available_memory() // 2 if memory is None else memory).empty


def cluster_options(function: Callable) -> Callable:
    """Add ``--cluster`` and ``--cluster-timeout``; the command gets `on`, an `OnCluster` or None."""

    @click.option(
        "--cluster",
        type=Parsed("cluster", Address.parse),
        metavar="ADDRESS",
        help=f"Compute on the workers of a Dask cluster: {EXPECTED}. local starts as many processes on this machine, "
        "by default one per core. Needs the extra `cluster`.",
    )
    @click.option(
        "--cluster-timeout",
        type=click_type(Real(0.1)),
        metavar="SECONDS",
        help=f"How long the cluster may be without a scheduler or a worker. Default: {OnCluster.timeout:g}.",
    )
    @wraps(function)
    def command(*args: Any, cluster: Address | None, cluster_timeout: float | None, **kwargs: Any) -> Any:
        _refuse_idle(cluster, "--cluster-timeout", cluster_timeout)
        on = None if cluster is None else OnCluster(cluster, cluster_timeout or OnCluster.timeout)
        return function(*args, on=on, **kwargs)

    return command


def shards_option(function: Callable) -> Callable:
    """Add ``--shards`` to a command with `cluster_options`; it becomes part of its `on`."""
    declared = options_of(OnCluster)["shards"]

    @click.option("--shards", type=click_type(declared.kind), help=f"{declared.help} Default: {declared.default}.")
    @wraps(function)
    def command(*args: Any, shards: int | None, on: OnCluster | None, **kwargs: Any) -> Any:
        _refuse_idle(on, "--shards", shards)
        return function(*args, on=on and replace(on, shards=shards or on.shards), **kwargs)

    return command


def _refuse_idle(cluster: object, option: str, value: object) -> None:
    if cluster is None and value is not None:
        raise click.UsageError(f"{option} needs --cluster.")


def refuse_with_cluster(files: Iterable[str], **values: Any) -> None:
    """Raise UsageError if an option is set that has no effect on a cluster (by parameter names), or without files."""
    for name, value in values.items():
        if value:
            option = "--" + name.replace("_", "-")
            raise click.UsageError(f"{option} and --cluster exclude each other; leave out one of the two.")
    if STANDARD_STREAM in files:
        raise click.UsageError("Workers of a cluster cannot read standard input: give a file.")


def refuse_sources(sources: "Sources", **values: Any) -> None:
    """Raise UsageError if a command that trains has options without effect on a cluster; see `refuse_with_cluster`."""
    from mpu_cli.svmlight.streams import files_of

    values |= {"cache": sources.cache, "groups": sources.groups, "scores": sources.scores}
    refuse_with_cluster((*files_of(sources.file), str(sources.complete)), **values)
