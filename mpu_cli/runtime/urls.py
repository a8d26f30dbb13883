"""Files at URLs, read by fsspec (extra ``url``): ``https://``, ``s3://``, ``gs://``, ``hdfs://`` and more.

Credentials come from the environment, as the package for each protocol defines. Messages leave out the parts of a URL
that may contain credentials.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from mpu_cli.errors import InputError, without_secrets
from mpu_cli.runtime.files import Joined

_STREAMED = ("http", "https")  # servers need not support byte ranges, so these are read from start to end
_BUFFER_BYTES = 1 << 20
_SECONDS = 60.0  # that a server may stay silent


@contextmanager
def open_url(url: str) -> Iterator[Joined]:
    """Open the file at a URL for reading, without decompression.

    Yields a stream, whose errors are InputErrors too.
    Raises InputError (fsspec or the package for the protocol is not installed, the file does not exist or cannot be
    read; while reading in the ``with`` block: the connection fails).
    """
    with _said(url):
        system, path = _file_system(url)
        file = system.open(path, **({"block_size": 0} if _protocol(url) in _STREAMED else {}))
    with closing(file), Joined(_pieces(file, url)) as stream:
        yield stream


def _pieces(file: Any, url: str) -> Iterator[bytes]:
    data = b"."
    while data:
        with _said(url):
            data = file.read(_BUFFER_BYTES)
        yield data


def _protocol(url: str) -> str:
    return url.partition("://")[0].lower()


def _file_system(url: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise InputError(
            url, None, "URLs need the package fsspec: run pip install '.[url]' in a copy of mpu's source"
        ) from None
    # Its errors name the package to install, or the protocol that it does not know.
    return url_to_fs(url, **(_http_options(url) if _protocol(url) in _STREAMED else {}))


def _http_options(url: str) -> dict[str, Any]:
    """Return HTTP client options, unless fsspec is configured otherwise (https://filesystem-spec.readthedocs.io)."""
    from aiohttp import ClientTimeout
    from fsspec.config import conf

    client = {
        "timeout": ClientTimeout(total=None, sock_connect=_SECONDS, sock_read=_SECONDS),  # large files take long
        "trust_env": True,  # proxies, and passwords in ~/.netrc
        "headers": {"Accept-Encoding": "identity"},  # compressed files arrive unchanged,
        "auto_decompress": False,  # even if a server declares the file's own compression as a transfer encoding
    }
    return {"client_kwargs": client | conf.get(_protocol(url), {}).get("client_kwargs", {})}


@contextmanager
def _said(url: str) -> Iterator[None]:
    """Turn any exception, from any of many packages, into an error that names the URL."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        raise InputError(url, None, f"cannot be read: {_reason(error)}") from None


def _reason(error: BaseException) -> str:
    if isinstance(error, FileNotFoundError):
        cause = error.__cause__
        # fsspec reports any HTTP error, and a missing answer, as a file that does not exist.
        return "there is no such file" if cause is None or getattr(cause, "status", None) == 404 else _reason(cause)
    text = " ".join(without_secrets(str(error)).split())
    return f"{text or 'no answer'} ({type(error).__name__})"
