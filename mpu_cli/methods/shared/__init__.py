"""Code that several methods share; here, the option of those with an RBF kernel."""

from dataclasses import dataclass

from mpu_cli.runtime.options import POSITIVE, option


@dataclass(frozen=True, kw_only=True)
class Gamma:
    """The width of the kernel."""

    gamma: float | None = option(
        POSITIVE,
        None,
        "The kernel is exp(-gamma d^2) for instances at distance d. Default: chosen by the distances of instances.",
    )
