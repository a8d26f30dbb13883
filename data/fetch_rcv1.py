"""Fetch RCV1-v2 (topics) from the LIBSVM data page, and check what came.

A file is downloaded to ``partial-NAME``, checked there, and renamed last: a file under its own name is complete and
correct, and is not fetched again.
"""

import shutil
import signal
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import click

from mpu_cli.cli.options import fail
from mpu_cli.errors import MpuError
from mpu_cli.runtime.files import open_url

BASE_URL = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multilabel/"


@dataclass(frozen=True)
class Expected:
    """What a file must contain.

    Attributes
    ----------
    name : str
        File name, on the server and here.
    rows : int
        Number of instances, exactly.
    labels : int or None
        Number of different labels, exactly; None where a file need not hold them all.
    largest_label, largest_feature : int
        Bounds of the ids; labels start at 0, features at 1.
    """

    name: str
    rows: int
    labels: int | None = None
    largest_label: int = 102
    largest_feature: int = 47236


# The LIBSVM page (https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multilabel.html) gives 101 classes, 47,236
# features and 23,149 / 781,265 instances; the four test files are those of Lewis et al. (JMLR 5, 2004). Label ids
# number the 103 topics in alphabetical order from 0 (CCAT is 33, MCAT 102); the 101 classes are those that the
# training set contains. A subset need not hold every label, nor any one file the largest feature.
SETS = {
    "full": (
        Expected("rcv1_topics_train.svm.bz2", rows=23_149, labels=101),
        Expected("rcv1_topics_test_0.svm.bz2", rows=199_328),
        Expected("rcv1_topics_test_1.svm.bz2", rows=199_339),
        Expected("rcv1_topics_test_2.svm.bz2", rows=199_576),
        Expected("rcv1_topics_test_3.svm.bz2", rows=183_022),
    ),
    "small": (
        Expected("rcv1subset_topics_train_1.svm.bz2", rows=3_000),
        Expected("rcv1subset_topics_test_1.svm.bz2", rows=3_000),
    ),
}


def fetch(expected: Expected, base_url: str, folder: Path) -> None:
    """Bring one file to `folder`, unless it is there.

    Parameters
    ----------
    expected : Expected
        The file and what it must contain.
    base_url : str
        Where the file is, ending in a slash.
    folder : Path
        An existing folder.

    Raises
    ------
    MpuError
        The file cannot be had, cannot be read as LIBSVM format, or does not contain what it should.
    """
    target = folder / expected.name
    if target.exists():
        click.echo(f"{target}: already here")
        return
    part = target.with_name(f"partial-{target.name}")
    click.echo(f"fetching {base_url}{expected.name}", err=True)
    try:
        with open_url(base_url + expected.name) as response, part.open("wb") as out:
            shutil.copyfileobj(response, out)
        click.echo(f"checking {expected.name}", err=True)
        found = check(part, expected)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    click.echo(f"{target}: {found}")


def check(path: Path, expected: Expected) -> str:
    """Hold the contents of a file to what is expected; sum them up in a line."""
    import numpy as np

    from mpu_cli.svmlight.reader import iter_chunks

    rows, labels, columns = 0, set(), set()
    for chunk in iter_chunks(path):
        rows += len(chunk)
        labels.update(np.unique(chunk.labels.indices).tolist())
        columns.update(np.unique(chunk.features.indices).tolist())
    problems = []
    if rows != expected.rows:
        problems.append(f"{expected.rows:,} instances, got {rows:,}")
    if expected.labels is not None and len(labels) != expected.labels:
        problems.append(f"{expected.labels} labels, got {len(labels)}")
    if not labels <= set(range(expected.largest_label + 1)):
        problems.append(f"labels from 0 to {expected.largest_label}, got {max(labels)}")
    if not columns <= set(range(1, expected.largest_feature + 1)):
        problems.append(f"features from 1 to {expected.largest_feature:,}, got {min(columns)} to {max(columns):,}")
    if problems:
        raise MpuError(f"{expected.name}: expected {'; '.join(problems)}. The download was removed; check --base-url")
    return f"{rows:,} instances, {len(labels)} labels, {len(columns):,} features"


def http_url(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """Accept an HTTP address and end it with a slash."""
    try:
        parts = urlsplit(value)
        is_http = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # a bad port or a bad IPv6 address
        is_http = False
    if not is_http:
        raise click.BadParameter(f"expected an address such as {BASE_URL}, got {value}")
    return value.rstrip("/") + "/"


@click.command()
@click.argument("size", type=click.Choice(list(SETS)))
@click.option("--base-url", default=BASE_URL, callback=http_url, show_default=True, help="Folder of a mirror.")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(__file__).parent / "rcv1",
    help="Where to put the files (default: rcv1 next to this script).",
)
@click.pass_context
def main(ctx: click.Context, size: str, base_url: str, folder: Path) -> None:
    """Fetch the full RCV1-v2 topics set (23,149 + 781,265 instances) or a small subset (3,000 + 3,000)."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for expected in SETS[size]:
            fetch(expected, base_url, folder)
    except MpuError as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}")
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        ctx.exit(128 + signal.SIGINT)


if __name__ == "__main__":
    main()
