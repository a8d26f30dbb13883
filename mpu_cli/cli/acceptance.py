"""When a new model takes the place of the present one: options of ``mpu train``, whose help must import little."""

from dataclasses import dataclass

from mpu_cli.runtime.options import Real, Whole, Words, option

# Of scores between 0 and 1, which no model can raise by predicting more or less alone.
METRICS = (
    *("micro_f1", "macro_f1", "samples_f1"),
    *(f"{name}_at_{k}" for name in ("precision", "ndcg") for k in (1, 3, 5)),
)
KS = (1, 3, 5)


@dataclass(frozen=True)
class Acceptance:
    """By what a new model is accepted, and how many of those before it are kept."""

    test: str  # data with complete labels that no training sees
    accept_margin: float = option(
        Real(0, 1),
        0.0,
        "With --accept-on: a new model is worse where the whole 95 % interval of its difference to the other one is "
        "below minus this.",
    )
    accept_metric: str = option(Words(METRICS), METRICS[0], "With --accept-on: the metric that decides.")
    keep: int = option(
        Whole(0, 10_000),
        5,
        "With --accept-on: keep the last N models that were replaced as MODEL.1 (the newest) to MODEL.N. A new model "
        "must not be worse than the best of them either, so that many small losses do not add up.",
    )
