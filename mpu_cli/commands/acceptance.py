"""When a new model takes the place of the present one: options of ``mpu train``, whose help must import little."""

from dataclasses import dataclass

from mpu_cli.runtime.options import PROBABILITY, Real, Whole, Words, option

NOT_WORSE, BETTER = "not-worse", "better"
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
    accept_if: str = option(
        Words((NOT_WORSE, BETTER)),
        NOT_WORSE,
        "With --accept-on: not-worse rejects a new model where the whole 95 % interval of its difference to the "
        "present one is below 0 (or below minus --accept-margin); better accepts it where the whole interval is above "
        "0 (or above --accept-margin).",
    )
    accept_margin: float = option(Real(0, 1), 0.0, "With --accept-on: a difference of at most this counts as none.")
    accept_metric: str = option(Words(METRICS), METRICS[0], "With --accept-on: the metric that decides.")
    accept_above: float | None = option(
        PROBABILITY, None, "With --accept-on: reject a new model whose metric on TEST.svm is below this number."
    )
    keep: int = option(
        Whole(0, 10_000),
        5,
        "With --accept-on: how many models that were accepted before are kept as versions. A new model must not be "
        "worse than the best of them either, so that many small losses do not add up.",
    )
