"""What a training reports, and the line about it in a history."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, NotRequired, TypedDict

from mpu_cli.commands.train.gate import Verdict
from mpu_cli.core.frequency.estimators import GroupRow
from mpu_cli.runtime.report import HIDDEN, INLINE, Count, Frequency, Interval, Share
from mpu_cli.training.training_data import ClusterWork, ReviewCounts

# From, to; empty where there is none.
MaybeInterval = Annotated[list[float], ("maxItems", 2)]


class ByPeople(TypedDict):
    """c where people have decided what is missing.

    Attributes
    ----------
    c : float
        Of all labels.
    instances : int
        Completely reviewed instances that it comes from.
    by_annotations_alone : float or None
        What c would be without them; None where nothing tells.
    answers : int
        Answers to questions.
    yes : int
        Those of them that say yes.
    """

    c: Frequency
    interval: Interval
    instances: Count
    by_annotations_alone: float | None
    answers: NotRequired[Count]
    yes: NotRequired[Count]


# Decisions of k labels (`core.model.top_k`) for an aim: precision at k and the aim that are expected of them, and of
# the k most probable labels.
TopKFindings = TypedDict(
    "TopKFindings",
    {
        "k": Count,
        "for": str,
        "precision": Share,
        "aim": Share,
        "precision_by_probability": Share,
        "aim_by_probability": Share,
    },
)


class Findings(TypedDict, total=False):
    """The results of a method.

    Attributes
    ----------
    c : float or list of float
        The label frequency: one, or one for each label.
    c_estimated : bool
        Whether c was estimated, and not set by the user.
    c_interval : list of float
        Of c by annotations alone; covers the sampling of instances only.
    c_by_people : ByPeople
        c where people have decided what is missing.
    c_by_group : list of GroupRow
        c of each group of instances.
    cost, step : float
        C and the step size.
    prior : float or None
        The weight of label features.
    rbf_gamma, rbf_landmarks : float, int
        Where levels learn from the features of an RBF kernel: exp(-gamma d^2) for standardised instances at distance d.
    levels : int
        How many levels were kept, where that was chosen.
    expected_micro_f1 : float
        On complete labels: out of fold, corrected for c.
    expected_micro_f1_interval : sequence of two floats
        Of 90 %, by the sampling of instances and the interval of c.
    expected_micro_f1_by_level : list of float
        The same of each level, at its best threshold.
    top_k : TopKFindings
        With --top-k: its decisions.
    thin : bool
        elkan08: gradient subsampling.
    labels_with_c_of_their_own : int
        elkan08: the others have the c of all.
    gamma : float or None
        m3l-rbf, well: of the kernel.
    label_correlation, relative_gap : float
        m3l: weight of the label similarities, and duality gap.
    f1 : float or None
        m3l, qaraei21: by which C was chosen.
    steps, residual : int, float
        well: of the iteration.
    libmultilabel, scikit_learn : str
        Its version.
    unannotated : str
        sklearn-pu: what a label taught that was not annotated, "negative" or "weighted".
    """

    c: Frequency | list[Frequency]
    c_estimated: bool
    c_interval: MaybeInterval
    c_by_people: ByPeople
    c_by_group: list[GroupRow]
    cost: float
    step: float
    epochs: Count
    loss: str
    prior: float | None
    rbf_gamma: float
    rbf_landmarks: Count
    levels: Count
    expected_micro_f1: float
    expected_micro_f1_interval: Interval
    expected_micro_f1_by_level: list[float]
    top_k: TopKFindings
    thin: bool
    labels_with_c_of_their_own: Count
    gamma: float | None
    label_correlation: float
    relative_gap: float
    f1: float | None
    steps: Count
    residual: float
    empty_labels: Count
    libmultilabel: str
    scikit_learn: str
    unannotated: str


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A model that was judged by ``--accept-on``, and the version that it has become; None where it was rejected."""

    version: Count | None
    verdict: Verdict = field(metadata=INLINE)


@dataclass(frozen=True, kw_only=True)
class Report:
    """The result of `training.train`.

    Attributes
    ----------
    model : Path
        The directory that was written.
    features : int
        Those that occur.
    labels_never_annotated : int or None
        Labels that have names or features alone; None where there are none.
    review : ReviewCounts or None
        Counts of the decisions in review files.
    c_assumption : str or None
        What c rests on where it comes from annotations alone.
    threshold : float or None
        From which probability on a label is predicted: one that all labels share.
    thresholds : dict of int to float, or None
        The same where labels have thresholds of their own, by number.
    seconds : dict
        Wall time of each step.
    peak_bytes : int
        Of memory.
    cluster : ClusterWork or None
        How a cluster carried it out.
    acceptance : Judged or None
        With --accept-on.
    annotations : int
        How many labels of instances are annotated.
    warnings : tuple of str
        What the user should know before trusting the model.
    """

    model: Path
    method: str
    instances: Count
    features: Count
    labels: Count
    labels_never_annotated: Count | None = None
    review: ReviewCounts | None = None
    findings: Findings = field(metadata=INLINE)
    c_assumption: str | None = None
    threshold: Share | None = None
    thresholds: dict[int, Share] | None = None
    seconds: Annotated[dict[str, float], ("$ref", "common.schema.json#/$defs/seconds")]
    peak_bytes: Count
    cluster: ClusterWork | None = None
    acceptance: Judged | None = None
    annotations: int = field(metadata=HIDDEN)
    warnings: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class HistoryLine:
    """A line about a training in a history.

    Attributes
    ----------
    file : str
        The data, as they were named.
    c : float or None
        The mean over labels, where each has its own; None where the method has none.
    c_interval : list of float or None
        Of 90 %, of sampling alone.
    expected_micro_f1 : float or None
        On complete labels: out of fold, corrected for c.
    expected_micro_f1_interval : sequence of two floats, or None
        Of 90 %, by the sampling of instances and the interval of c.
    seconds : float
        Of all steps.
    warnings : list of str
        What to know before this is used; the same lines are on standard error.
    version : int or None
        The number of the version that the model has become.
    """

    time: Annotated[str, ("format", "date-time")]
    model: Path
    file: str
    method: str
    instances: Count
    features: Count
    labels: Count
    annotations: Count
    c: float | None
    c_estimated: bool | None
    c_interval: MaybeInterval | None
    expected_micro_f1: float | None
    expected_micro_f1_interval: Interval | None
    seconds: float
    warnings: list[str]
    cluster: ClusterWork | None = None
    verdict: Verdict | None = field(default=None, metadata=INLINE)
    version: Count | None = None
