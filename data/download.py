"""Download a file over HTTP, going on where an earlier try stopped (RFC 9110, sections 13.1.5 and 14)."""

import re
import socket
import ssl
import time
from collections.abc import Iterator
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import click

from mpu_cli.cli.messages import counting
from mpu_cli.errors import MpuError

ATTEMPTS = 5
TIMEOUT = 60  # seconds without a byte
BLOCK = 1 << 16  # bytes

# Answers that may be different a little later; every other 4xx is final.
PASSING = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS}


class FetchError(MpuError):
    """A download that failed for good, or a file that is not what it should be."""


class BrokenDownloadError(Exception):
    """A try that failed but may succeed when repeated."""


class Partial:
    """A file that is not complete yet, ``partial-NAME``, and which version of it the server was sending.

    The name keeps its end, by which readers know how a file is compressed. The version (ETag or Last-Modified) lies
    next to it in ``partial-NAME.version``. Without one, the bytes cannot be told from those of another version, so
    they do not count.
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = target.with_name(f"partial-{target.name}")
        self.version_path = target.with_name(f"partial-{target.name}.version")

    def size_and_version(self) -> tuple[int, str]:
        """Bytes to go on from and their version; ``(0, "")`` where there is nothing to go on from."""
        version = self.version_path.read_text("latin-1") if self.version_path.exists() else ""
        size = self.path.stat().st_size if self.path.exists() else 0
        return (size, version) if size and version else (0, "")

    def start_over(self, version: str) -> None:
        """Empty the file, and do so first: the old bytes must never lie next to the new version."""
        self.path.write_bytes(b"")
        self.version_path.write_text(version, "latin-1")

    def discard(self) -> None:
        """Remove the file and its version."""
        self.path.unlink(missing_ok=True)
        self.version_path.unlink(missing_ok=True)

    def keep(self) -> None:
        """Give the complete file its own name."""
        self.path.replace(self.target)
        self.version_path.unlink(missing_ok=True)


def download(url: str, part: Partial, pause: float = 1.0) -> None:
    """Complete `part` from `url`, trying `ATTEMPTS` times.

    Parameters
    ----------
    url : str
        Where the file is.
    part : Partial
        What is already here of it, if anything. Its bytes are kept when the tries run out.
    pause : float
        Seconds before the first repetition; each further one waits twice as long.

    Raises
    ------
    FetchError
        The file cannot be had, or not be written.
    """
    for attempt in range(ATTEMPTS):
        try:
            return download_once(url, part)
        except BrokenDownloadError as error:
            problem = str(error)
        except OSError as error:  # those of the network have become a BrokenDownloadError
            raise FetchError(f"{part.path}: cannot be written: {describe(error)}") from None
        if attempt < ATTEMPTS - 1:
            wait = pause * 2**attempt
            click.echo(f"{url}: {problem}; trying again in {wait:g} s", err=True)
            time.sleep(wait)
    raise FetchError(f"{url}: {problem}; gave up after {ATTEMPTS} tries. Run this again to go on from here")


def download_once(url: str, part: Partial) -> None:
    """Complete `part` from `url` over one connection."""
    size, version = part.size_and_version()
    with connect(url, size, version) as response:
        total = accept(response, part, size, version)
        if response.status != HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:  # that one's body is about the error
            append(response, part.path, total)
    size = part.path.stat().st_size
    if total is not None and size != total:
        raise BrokenDownloadError(f"the connection ended after {size:,} of {total:,} bytes")


def connect(url: str, size: int, version: str) -> HTTPResponse | HTTPError:
    """Ask for the bytes from `size` on, or for all of them if the file is no longer of that version.

    Returns
    -------
    HTTPResponse or HTTPError
        The answer; a HTTPError only where the server says that there is nothing from `size` on.
    """
    request = Request(url)
    if size:
        request.add_header("Range", f"bytes={size}-")
        request.add_header("If-Range", version)
    try:
        return urlopen(request, timeout=TIMEOUT)
    except HTTPError as error:
        if error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and size:
            return error
        error.close()
        problem = f"the server answered {error.code} {error.reason}"
        if error.code in PASSING or error.code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise BrokenDownloadError(problem) from None
        raise FetchError(f"{url}: {problem}; check --base-url") from None
    except (OSError, HTTPException) as error:
        reason = error.reason if isinstance(error, URLError) else error
        if isinstance(reason, socket.gaierror | ssl.SSLCertVerificationError):
            raise FetchError(f"{url}: {describe(reason)}; check the network and --base-url") from None
        raise BrokenDownloadError(describe(reason)) from None


def accept(response: HTTPResponse | HTTPError, part: Partial, size: int, version: str) -> int | None:
    """Decide from the head of an answer whether its body goes on from `part` or replaces it.

    Returns
    -------
    int or None
        Size of the complete file in bytes; None if the server does not say.
    """
    if response.status == HTTPStatus.OK:
        part.start_over(version_of(response))
        return response.length
    content_range = response.headers.get("Content-Range", "")
    if response.status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and content_range == f"bytes */{size}":
        return size
    span = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", content_range)
    if response.status == HTTPStatus.PARTIAL_CONTENT and span and version_of(response) in ("", version):
        start, last, total = map(int, span.groups())
        if start == size and last == total - 1 and response.length in (None, total - size):
            return total
    part.discard()
    raise BrokenDownloadError("the server sent something else than the rest of the file; starting over")


def version_of(response: HTTPResponse) -> str:
    """Return what If-Range may be given: a strong ETag, else the date of the last change, else nothing."""
    etag = response.headers.get("ETag", "")
    return etag if etag.startswith('"') else response.headers.get("Last-Modified", "")


def append(response: HTTPResponse, path: Path, total: int | None) -> None:
    """Write the body of an answer to the end of the file."""
    with path.open("ab") as out, counting(path.name, total, "byte") as count:
        count(out.tell())
        for block in blocks(response):
            out.write(block)
            count(len(block))


def blocks(response: HTTPResponse) -> Iterator[bytes]:
    """Yield the body as it arrives; errors of the network are told apart from those of the disk."""
    while True:
        try:
            block = response.read1(BLOCK)
        except (OSError, HTTPException) as error:
            raise BrokenDownloadError(describe(error)) from None
        if not block:
            return
        yield block


def describe(error: object) -> str:
    """Say what an exception means, without its number."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
