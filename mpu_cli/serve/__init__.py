"""``mpu serve``: a model that answers HTTP requests, with the extra ``serve``; here, how much one may ask for."""

from dataclasses import dataclass

from mpu_cli.runtime.options import Integer, option


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The largest request."""

    max_bytes: int = option(Integer(1, 1 << 30), 1 << 20, "Largest request body, in bytes.")
    max_instances: int = option(Integer(1, 100_000), 1000, "Most instances per request.")
    max_top: int = option(Integer(1, 100_000), 100, "Most scores per instance.")
