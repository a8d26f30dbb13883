"""Annotated training data: a file, and the files beside it; and the report and record of a training."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.sparse import csr_array, vstack

from mpu_cli.bundle import TrainedModel
from mpu_cli.bundle.writing import training_record
from mpu_cli.cluster import Address, absolute, connected
from mpu_cli.core.features import Columns, base_shift, with_width
from mpu_cli.core.frequency.label_frequency import refuse_refuted
from mpu_cli.core.implications import Implications
from mpu_cli.core.linear_model import rows_among
from mpu_cli.core.loss import loss_named
from mpu_cli.core.options import Options
from mpu_cli.core.problem import Problem, Verdict, VerifiedLabels, widened
from mpu_cli.core.sample import Estimates
from mpu_cli.core.selection import HyperParameters, TrainingResult
from mpu_cli.core.stacking import StackedModel
from mpu_cli.errors import InputError, MpuError, abridged, counted, shown
from mpu_cli.inputs.side_tables import (
    label_features_beside,
    read_frequencies,
    read_groups,
    read_label_features,
    read_scores,
)
from mpu_cli.names.label_names import NAMELESS, LabelNames, RecordIds
from mpu_cli.names.naming import BESIDE, FILLED, Naming, find_broader, is_kept, read_implications, there
from mpu_cli.review import decisions, matching
from mpu_cli.runtime.files import State, state_of
from mpu_cli.runtime.options import options_of
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.grammar import DEFAULT_READING, MAX_ID, RENUMBERED, VECTORS_AS_LISTS, Reading
from mpu_cli.svmlight.reader import Dataset, no_labels, read
from mpu_cli.svmlight.streams import Source, bytes_of, files_of
from mpu_cli.text.stored import Sidecars, Stored, packed

if TYPE_CHECKING:
    from mpu_cli.cluster.training import Collection

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TrainingFiles:
    """Training files, from the options of `mpu train` and `mpu suggest`."""

    file: Source  # annotated instances; numbered consecutively through several files
    reviewed: Sequence[str | Path] = ()
    fully_labelled: str | Path | None = None  # more instances, with complete label sets
    naming: Naming = BESIDE
    reading: Reading = DEFAULT_READING
    label_features: str | Path | None = None
    groups: str | Path | None = None
    same_fold: str | Path | None = None
    scores: str | None = None
    implied: str | Path | None = None

    @property
    def rules(self) -> str | Path | None:
        """The file of implied labels, given or found beside the data; None if absent."""
        return find_broader(self.file) if self.implied is None else self.implied

    def by_option(self) -> dict[str, Any]:
        """Return the files keyed by the options that name them, as `refuse_overlaps` expects."""
        return {"FILE": self.file, **self.others()}

    def others(self) -> dict[str, Any]:
        """Return the files beside the data."""
        names = "reviewed", "fully_labelled", "groups", "same_fold", "implied", "labels", "label_features", "scores"
        files = vars(self) | {"labels": self.naming.file}
        return {f"--{name.replace('_', '-')}": files[name] for name in names}


@dataclass(frozen=True, kw_only=True)
class TrainingData(Problem):
    """A problem read from files: labels have numbers, and perhaps names."""

    ids: np.ndarray  # int, shape (q,): the label, as written in files, of each column; ascending
    names: LabelNames = NAMELESS  # label names, including those of labels that do not occur
    sidecars: Sidecars | None = None  # files beside the data file, with the ids of its records
    stored_vectorizer: Stored | None = None  # the vectoriser that created the data from texts
    feature_names: Sequence[str] | None = None  # of each column, from 0; None: features have numbers
    states: Sequence[State | None] = ()  # of each data file, for `bundle.writing.described_files`
    review: matching.ReviewCounts | None = None
    implications: Implications | None = None  # which labels imply others, if there are rules
    scores: np.ndarray | None = None  # float32, shape (n, q): out-of-fold scores of another classifier, from 0 to 1

    @property
    def instances_of_file(self) -> int:
        """The number of instances of the first file."""
        return len(self) if self.second is None else int(self.second[0])

    @property
    def record_ids(self) -> RecordIds | None:
        """The record ids of the file, read on access; None if absent."""
        return None if self.sidecars is None else self.sidecars.ids(self.instances_of_file)

    @cached_property
    def occurring(self) -> Columns:
        """The features that occur."""
        return Columns.occurring(self.features)

    @property
    def never_annotated(self) -> np.ndarray:
        """The labels that are never annotated, ascending."""
        return self.ids[self.annotations == 0]

    def findings(self, options: Options, model: StackedModel, result: TrainingResult) -> dict[str, Any]:
        """Return the estimates and choices of a training: JSON values for the report and the model's record."""
        chosen, c, estimates, rbf = result.chosen, result.chosen.c, result.chosen.estimates, model.rbf
        are_one, is_known, reviewed = bool((c == c[0]).all()), estimates.is_known, estimates.reviewed
        uses = {
            "thin": False,  # follows from the number of labels
            "labelled_only": chosen.settings.labelled_only,
            "eta0": loss_named(chosen.settings.loss).has_step,
            "prior": self.label_features is not None and options.uses_label_features,
        }
        by_people: dict[str, Any] | None = None
        if reviewed is not None:
            by_people = {
                "c": reviewed.c,
                "interval": list(reviewed.interval),
                "instances": reviewed.instances,
                "by_annotations_alone": estimates.by_annotations_alone,
                **({"answers": reviewed.answers, "yes": reviewed.yes} if reviewed.answers else {}),
            }
        found = {
            "c": float(c[0]) if are_one else c.tolist(),
            "c_estimated": estimates.are_estimated,
            **{name: value for name, value in asdict(chosen.settings).items() if uses.get(name, True)},
            "expected_micro_f1": result.expected_f1,
            "expected_micro_f1_by_level": result.level_f1,
            "c_known": None if is_known else False,
            "expected_micro_f1_interval": list(result.f1_interval) if is_known else None,
            "c_interval": list(estimates.overall.interval or ()) if is_known and estimates.are_estimated else None,
            "c_overall": estimates.overall.c if is_known and estimates.are_estimated and not are_one else None,
            "scaling": result.scaling,
            "rbf_gamma": None if rbf is None else rbf.gamma,
            "rbf_landmarks": None if rbf is None else len(rbf),
            "levels": len(model.levels) if options.levels is None else None,
            "c_assumption": estimates.assumption,
            "c_by_people": by_people,
            "c_by_group": self.report_of_groups(estimates) or None,
        }
        return {name: value for name, value in found.items() if value is not None}

    def report_of_groups(self, estimates: Estimates) -> list[dict[str, Any]]:
        """Return a row for each group of instances, with c and the number of missing labels.

        Empty without groups, and if c is unknown; if only that of a group is, its interval and that number are None.
        """
        found, groups = estimates.groups, self.groups
        if found is None or groups is None or not estimates.is_known:
            return []
        known = self.verified and self.verified.of_single_cells().as_annotated()
        by_chance = self.labels if known is None else known.by_chance(self.labels)
        instances, annotations = groups.sums(np.ones(len(self))), groups.sums(np.diff(by_chance.indptr))
        missing = np.minimum(annotations * (1 / found.c - 1), instances * len(self.ids) - annotations)
        return [
            {
                "group": name,
                "instances": int(instances[g]),
                "annotations": int(annotations[g]),
                "c": float(found.c[g]),
                "interval": None if found.unknown[g] else found.intervals[g].tolist(),
                "missing": None if found.unknown[g] else float(missing[g]),
                "pooled": bool(found.pooled[g]),
            }
            for g, name in enumerate(groups.names)
        ]

    def warnings(self, estimates: Estimates, of_label: Callable[[int], str] | None = None) -> list[str]:
        """Return warnings about the review, c and a dominating feature, with label and feature names."""
        cautions = cautions_of(estimates, self, of_label or self._shown)
        if estimates.dominating is not None:
            column = estimates.dominating.column
            names = None if self.stored_vectorizer is None else self.stored_vectorizer.features
            shown = self.feature_names[column] if self.feature_names is not None else names and names[column - 1]
            cautions.append(estimates.dominating.caution(shown or str(column)))
        asked, used = len(self.answers or ()), 0 if estimates.reviewed is None else estimates.reviewed.answers
        if estimates.estimate is not None and used < asked:
            cautions.append(
                f"{asked - used:,} of {counted(asked, 'answer')} unused: c is not estimated on their instances or "
                "labels; give --seed and --sample as when they were drawn, and keep the numbers of labels"
            )
        said = () if estimates.earlier is None else estimates.earlier.warnings
        of_review = [] if self.review is None else self.review.cautions(self.names)
        return [*of_review, *(text for text in cautions if text not in said), *estimates.warnings()]

    def _shown(self, column: int) -> str:
        return self.names.shown(int(self.ids[column]))

    def true_labels(self, chosen: HyperParameters) -> np.ndarray:
        """Estimate the number of instances with each label, from c and verified labels: float64, shape (q,)."""
        return chosen.estimates.frequency(self).true_labels(self.labels)

    def assembled(
        self,
        model: StackedModel,
        chosen: HyperParameters,
        findings: dict[str, Any],
        options: Options,
        run: Run,
        files: dict[str, Any],
    ) -> TrainedModel:
        """Return a model with everything that is saved; the options are as the user chose them.

        `files`: from `bundle.writing.described_files`; empty without files.
        """
        occurring = model.columns  # the model has weights for exactly these features
        if occurring is None:
            used = self.label_features if findings.get("prior") else None
            occurring = self.occurring if used is None else self.occurring.joined(Columns.occurring(used))
            occurring = replace(occurring, width=model.n_features)
        asked = {name: getattr(options, name) for name in options_of(Options) if name not in findings}
        return TrainedModel(
            predictor=model,
            label_ids=self.ids,
            c=chosen.c,
            occurring=occurring,
            options=asked | {"seed": run.seed, **findings},
            names=self.names.only(self.ids.tolist()),
            implies=None if self.implications is None else self.implications.among(self.ids, self.ids),
            packed_vectorizer=None if self.stored_vectorizer is None else packed(self.stored_vectorizer),
            origin=training_record(len(self), self.annotations, self.true_labels(chosen), options, run, files),
        )

    def resolved(self, options: Options) -> Options:
        """Return the options with a frequency file replaced by its label frequencies.

        Raises InputError (the frequency file cannot be read, or lacks a label), MpuError (the options set a weight for
        label features, but there are none), DataError (the annotations contradict c).
        """
        if self.label_features is None and options.needs_label_features:
            raise MpuError(
                f"--prior {options.prior:g} is the weight of the features of labels, and there are none: give "
                "--label-features, or data that mpu vectorize made, with names of labels"
            )
        c: Any = options.c
        if isinstance(c, Path):
            c = read_frequencies(c, self.ids, self.names, may_be_absent=self.never_annotated)
        if c is not None and self.labels.nnz:  # empty here if the labels are on the workers of a cluster
            refuse_refuted(c, self.labels, self.verified, self._shown)
        return replace(options, c=c)

    def widened(self, every: np.ndarray) -> Self:
        """Return the same data with more, never annotated labels; `every`: all label numbers, ascending."""
        return replace(
            self,
            ids=every,
            labels=widened(self.labels, self.ids, every),
            verified=self.verified and self.verified.widened(self.ids, every),
            answers=self.answers
            and replace(self.answers, columns=np.searchsorted(every, self.ids)[self.answers.columns]),
            origins=None if self.origins is None else widened(self.origins, self.ids, every),
        )


def cautions_of(estimates: Estimates, problem: Problem, shown: Callable[[int], str]) -> list[str]:
    """Return warnings about c, overall and of groups, with labels named by their columns."""
    cautions = [] if estimates.estimate is None else estimates.estimate.cautions(len(problem), shown)
    groups, found = problem.groups, estimates.groups
    if groups is None or found is None or not estimates.is_known:
        return cautions
    is_empty = groups.sums(np.diff(problem.labels.indptr)) == 0
    stopped = "people seem to have stopped at some number of labels; the totals hold if no instance truly has more"
    for which, why in ((is_empty, "nothing is annotated there, and the totals leave it out"), (~is_empty, stopped)):
        if unknown := [groups.names[g] for g in np.flatnonzero(found.unknown & which)]:
            of_groups = f"group{'s' * (len(unknown) > 1)} {abridged(unknown[:5], len(unknown))}"
            cautions.append(f"c of {of_groups} cannot be estimated: {why}")
    return cautions


def read_training_data(
    sources: TrainingFiles, run: Run, is_for_model: bool = True, is_read_again: bool = False
) -> TrainingData:
    """Read the files of a training, and combine them.

    `is_for_model`: whether a model is trained; otherwise the vectoriser beside the data and label features are not
    read.
    `is_read_again`: whether the file will be read a second time, so that its checksum is needed.
    Raises InputError (a file cannot be read, no instance has a label, or a file beside the data does not fit them).
    """
    with run.step("reading data", bytes_of(sources.file)):
        sidecars = Sidecars(sources.file)
        if is_read_again:
            sidecars.measures.setdefault(str(sources.file))
        data = _read(sources, run, sidecars)
        if not is_for_model:
            return data
        data = replace(data, stored_vectorizer=sidecars.stored_vectorizer())
        return _with_label_features(data, sources, run)


def _read(sources: TrainingFiles, run: Run, sidecars: Sidecars) -> TrainingData:
    reading, states = sources.reading, list(map(state_of, files_of(sources.file)))
    refuse_filled(sources.file)
    ends: list[int] = []
    file = read(sources.file, reading, run, measures=sidecars.measures, ends=ends)
    first, *others = files_of(sources.file)
    of_first = _numbers(file, 0, ends[0]) if others else {}
    for path, start, end in zip(others, ends, ends[1:], strict=False):
        _warn_of_base(_numbers(file, start, end), path, of_first, first, True)
    for path, state in zip(files_of(sources.file), states, strict=True):
        now = state_of(path)
        if state is not None and now is not None and now[0] != state[0]:  # the time alone may be changed by a copy
            raise InputError(path, "has changed while it was read; train when it is complete, or on a copy of it")
    labels, ids = file.occurring_labels()
    names = sidecars.names_of(sources.naming, ids)
    data = TrainingData(features=file.features, labels=labels, ids=ids, names=names, sidecars=sidecars, states=states)
    if sources.reviewed:
        data = _with_reviews(data, sources, file)
    if (rules := sources.rules) is not None:
        data = _with_implications(data, read_implications(rules, data.names), rules)
    if sources.same_fold is not None:
        sets = read_groups(sources.same_fold, len(data))
        if len(sets.names) == len(data):
            _log.warning(f"{shown(sources.same_fold)}: all lines differ, so it keeps no instances in one fold")
        data = replace(data, same_fold=sets.of_instances)
    if sources.groups is not None:
        data = replace(data, groups=read_groups(sources.groups, len(data)))
    if sources.fully_labelled is not None:
        source = str(sources.fully_labelled)
        more = read(source, reading, run)
        if not more.labels.nnz:
            raise no_labels(source)
        _warn_of_base(_numbers(more, 0, len(more)), source, _numbers(file, 0, len(file)), sources.file)
        data = _with_complete(data, more)
    if not len(data.ids):
        raise no_labels(sources.file)
    if len(ids) > 2 and all(set(str(label)) <= {"0", "1"} for label in ids):
        shape = (
            f"all labels consist of 0 and 1, such as {ids[-1]}; if they are vectors of 0 and 1, write lists of labels"
        )
        _log.warning(f"{shown(sources.file)}: {shape}: {VECTORS_AS_LISTS}")
    if not file.features.nnz:
        why = "mpu vectorize found no known word in any text" if sidecars.measures else "is this a table of numbers?"
        _log.warning(f"{shown(sources.file)}: no instance has a feature, such as 1:0.5; {why}")
    elif not file.features.indptr[1] and len(file) - 1 in file.labels[:1].indices:
        heading = f"the first instance has no feature, and label {len(file) - 1}, which is the number of the others"
        _log.warning(f"{shown(sources.file)}: {heading}: if its line is a heading, remove it: sed 1d")
    if sources.scores is None:
        return data
    scores = read_scores(sources.scores, len(data), data.ids, data.annotations, reading=reading, run=run)
    if np.count_nonzero(scores) == data.labels.nnz and (scores[data.labels.nonzero()] == 1).all():
        _log.warning(
            f"{shown(sources.scores)}: these scores are the annotations of {shown(sources.file)}, so hardly any label "
            "will seem to be missing; take those of a classifier that has not seen the instance's annotations"
        )
    return replace(data, scores=scores)


def _with_reviews(data: TrainingData, sources: TrainingFiles, file: Dataset) -> TrainingData:
    """Add the verified labels to the data, which were read from `file`.

    Raises InputError (a review cannot be read, or does not fit the file).
    """
    decided = decisions.read(sources.reviewed, data.names, data.record_ids, file.labels)
    named = [number for number, texts in data.names.by_number.items() if texts]
    reviewed = matching.match(decided, file, sources.file, named)
    if (refuted := reviewed.review.refuted) and None in decided.checksums:
        _log.warning(
            f"{', '.join(decided.files)}: no to {counted(refuted, 'label')} of {shown(sources.file)}, which counts; "
            "is this a review of another file?"
        )
    return replace(data, **vars(reviewed))  # its fields are those of the data


def refuse_filled(source: Source) -> None:
    """Raise InputError if `mpu suggest` has filled in labels of one of the data files: they are not annotations."""
    for file in files_of(source):
        if (path := there(file, FILLED)) is not None:
            raise InputError(
                path,
                f"lists the labels of {shown(file)} that were filled in, which are not annotations: learn from the "
                "file that mpu suggest has read; or move this list away, so that they count as annotations",
            )


_FEWEST_IMPLIED, _SWAPPED = 20, 0.5  # below these, annotations do not reveal whether the rules' columns are swapped


def _with_implications(data: TrainingData, implications: Implications, rules: str | Path) -> TrainingData:
    """Add rules for implied labels; mark implied labels among the annotations as verified by implication."""
    labels = data.labels
    if not (is_kept(rules) or np.isin(data.ids, [*implications.next_broader()]).any() or implications.circle):
        _log.warning(f"{shown(rules)}: no label in the first (narrower) column is in the data; give other rules")
    now, swapped, n = implications.agreement(labels, data.ids)
    if n >= _FEWEST_IMPLIED and swapped >= _SWAPPED and swapped >= 2 * now:
        _log.warning(
            f"{shown(rules)}: where a label has a broader one, this is annotated too in {now:.0%} of the instances; "
            f"with the columns swapped, in {swapped:.0%}: the narrower label comes first; awk -F '\\t' -v OFS='\\t' "
            "'{print $2, $1}' swaps them"
        )
    verified = data.verified or VerifiedLabels.of((labels.shape[0], labels.shape[1]))
    verified = verified.with_implied(implications.implied(labels, data.ids, data.ids), labels)
    return replace(data, implications=implications, verified=verified if verified.cells.nnz else data.verified)


_FEWEST_FOR_BASE, _MOST_FOR_BASE = 50, 10_000  # fewer instances do not show how often each occurs; as many numbers do


def _numbers(data: Dataset, start: int, end: int) -> dict[str, np.ndarray]:
    """Return label and feature numbers of evenly spaced instances; none if there are too few instances."""
    found = {}
    for kind, rows in {"labels": data.labels, "features": data.features}.items():
        step = (rows.indptr[end] - rows.indptr[start]) // _MOST_FOR_BASE
        numbers = rows.indices[rows.indptr[start] : rows.indptr[end]]
        some = np.append(rows[start : end : max(step, 1)].indices, numbers.min(initial=MAX_ID))
        found[kind] = some[: (end - start >= _FEWEST_FOR_BASE) * len(numbers)]
    return found


def _warn_of_base(
    found: dict[str, np.ndarray], path: str, expected: dict[str, np.ndarray], source: Source, are_parts: bool = False
) -> None:
    """Warn if the numbers in a file seem to have another base than those in another.

    `are_parts`: whether both may be parts of data sorted by label: then only one of them has the number 0.
    """
    for kind, numbers in found.items():
        shift = base_shift(numbers, expected[kind])
        are_sorted = are_parts and (0 in numbers) == (0 in expected[kind])
        if shift and not are_sorted and len(np.unique(numbers)) > 1:  # a file for each label is no shift
            text = f"{kind} seem to be numbered from another base than those of {shown(source)}; renumber it"
            _log.warning(f"{shown(path)}: {text}: {RENUMBERED[kind] % shift}")


def _with_complete(data: TrainingData, more: Dataset) -> TrainingData:
    features, (labels, ids) = more.features, more.occurring_labels()
    width = max(data.features.shape[1], features.shape[1])
    both = [with_width(part, width) for part in (data.features, features)]
    every = np.union1d(data.ids, ids)
    data = data.widened(every)
    (n, q), m = data.labels.shape, len(more)
    known = data.verified or VerifiedLabels.of((n, q))
    cells = csr_array(vstack([known.cells, csr_array((m, q), dtype=np.int8)], format="csr"))
    verified = VerifiedLabels(cells, np.append(known.instances, np.full(m, Verdict.FALSE, np.int8)))
    same_fold = data.same_fold
    if same_fold is not None:
        same_fold = np.concatenate([same_fold, same_fold.max(initial=0) + 1 + np.arange(m)])
    return replace(
        data,
        features=csr_array(vstack(both, format="csr")),
        labels=csr_array(vstack([data.labels, widened(labels, ids, every)], format="csr")),
        verified=verified,
        second=np.arange(n, n + m),
        same_fold=same_fold,
    )


def _with_label_features(data: TrainingData, sources: TrainingFiles, run: Run) -> TrainingData:
    """Add label features: those of a file, or vectors of label names; and the labels that are never annotated.

    These have features, or a name that ``--labels`` gives or `mpu vectorize` wrote.
    """
    is_given, found, names = sources.naming.file is not None, None, data.names.by_number
    if sources.label_features is not None:
        of_data = data.ids, data.occurring, sources.file
        found = read_label_features(sources.label_features, *of_data, reading=sources.reading, run=run)
    elif data.stored_vectorizer is not None:
        found = label_features_beside(sources.file, names if is_given else None, data.stored_vectorizer)
    numbers, vectors = found or (np.empty(0, int), None)
    are_labels = is_given or data.stored_vectorizer is not None
    others = [number for number, texts in names.items() if texts and are_labels]
    every = np.union1d(data.ids, np.union1d(numbers, others).astype(data.ids.dtype))
    if len(every) > len(data.ids):
        data = data.widened(every)
    if vectors is None:
        return data
    return replace(data, label_features=rows_among(vectors, np.searchsorted(data.ids, numbers), len(data.ids)))


@contextmanager
def cluster_data(sources: TrainingFiles, on: Address, run: Run) -> Iterator["ClusterData"]:
    """Let the workers of a cluster read files, for the duration of the context.

    Raises InputError (a file cannot be read, no instance has a label, or a file beside the data is not supported on a
    cluster), DataError (too many labels), ClusterError (the cluster cannot be reached or used, or has failed).
    """
    files = [absolute(file) for file in files_of(sources.file)]  # refuses files that workers cannot read
    refuse_filled(sources.file)
    if sources.rules is not None:
        raise InputError(
            sources.rules,
            "lists labels that imply others, which a cluster does not use: train on one machine, or move the file away",
        )
    with connected(on, run) as executor:
        from mpu_cli.cluster.training import read_files

        collection = read_files(executor, files, sources.reading, run)
        sidecars = Sidecars(sources.file)
        nothing = csr_array((0, 0), dtype=np.float32)
        yield ClusterData(
            features=nothing,
            labels=nothing,
            collection=collection,
            ids=collection.ids,
            names=sidecars.names_of(sources.naming, collection.ids),
            sidecars=sidecars,
            stored_vectorizer=sidecars.stored_vectorizer(),
            states=[None] * len(files),
        )


@dataclass(frozen=True, kw_only=True)
class ClusterData(TrainingData):
    """Training data whose features and labels stay on the workers of a cluster; here they are empty."""

    collection: "Collection"

    def __len__(self) -> int:
        return len(self.collection)

    @cached_property
    def occurring(self) -> Columns:
        """The features that occur."""
        return self.collection.columns

    @cached_property
    def annotations(self) -> np.ndarray:
        """The number of instances annotated with each label."""
        return self.collection.annotations

    def true_labels(self, chosen: HyperParameters) -> np.ndarray:
        """Estimate the number of instances with each label, from the label frequency."""
        return self.annotations / chosen.c

    def work(self) -> dict[str, int]:
        """Return the number of parts and workers of the training, while the cluster is connected."""
        return {"parts": len(self.collection.sizes), "workers": self.collection.executor.workers}
