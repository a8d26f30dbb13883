"""``mpu serve``: a model that answers HTTP requests, with the extra ``serve``; here, how much one may ask for."""

from dataclasses import dataclass

from mpu_cli.runtime.options import Whole, option


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The largest request."""

    max_bytes: int = option(Whole(1, 1 << 30), 1 << 20, "Bytes in the body of a request, at most.")
    max_instances: int = option(Whole(1, 100_000), 1000, "Texts or instances in a request, at most.")
    max_top: int = option(Whole(1, 100_000), 100, "Scores of an instance that a request may ask for, at most.")
