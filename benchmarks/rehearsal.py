"""What the units of work of a training of many labels take and give, measured on instances of a file."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from benchmarks.simulation import Costs
from mpu_cli.core import parts, sgd
from mpu_cli.core.data.features import Features
from mpu_cli.core.data.predictions import HeldOut, Top
from mpu_cli.core.frequency.label_frequency import LabelFrequency, count_annotations
from mpu_cli.core.instances import Selected
from mpu_cli.core.model.calibration import BinnedCells
from mpu_cli.core.model.stacking import LinearModel
from mpu_cli.core.negative_sampling import INSTANCES, LabelGroups, directions_of, labels_to_group
from mpu_cli.core.options import Options
from mpu_cli.core.parts import PartRows, Pass
from mpu_cli.core.select.hyper_parameters import HyperParameters
from mpu_cli.core.sgd import Settings
from mpu_cli.core.train import groups as group_units
from mpu_cli.core.train import mixing
from mpu_cli.core.train.groups import Picked, Whole
from mpu_cli.core.validation import EVERYTHING
from mpu_cli.runtime.parallel import run_unit
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.dataset import Dataset

_RUN = Run(jobs=1)
_LABELS = 4096  # whose instances are summed up at a time
# A model is also learned from one in so many instances, to see how time grows with them.
_FEWER = 4
# Groups that are also learned from all instances of the file, to see how a model grows with them.
_GROUPS = 20
# Weights below this are dropped.
_PRUNE = 0.3


@dataclass(frozen=True)
class Rehearsal:
    """What was measured.

    Attributes
    ----------
    part : PartRows
        The first instances of the file, which stand for each part.
    annotations : ndarray of float, shape (q,)
        Of all instances of the file, by their number.
    options : Options
        What it was learned with.
    groups : LabelGroups
        By all instances of the file.
    model_of_groups, model : LinearModel
        Of groups and of labels, from as many other instances.
    predictions : csr_array
        Of the part, by the latter.
    of_instance, of_weight : float
        Seconds of predicting an instance, and so many more for each weight of the model.
    costs : Costs
        `add` is also that of a byte of sparse models that are put side by side.
    grouping : float
        Seconds.
    of_group, of_cell : float
        Seconds of learning a group, for each feature there is, and for each that an instance on its list has.
    growth : float
        The weights that are left of a model grow by this power of the number of instances.
    growth_of_sums : float
        How many times as large the sum of the instances of labels is from two parts as from one.
    """

    part: PartRows
    annotations: np.ndarray
    options: Options
    groups: LabelGroups
    model_of_groups: LinearModel
    model: LinearModel
    predictions: csr_array
    of_instance: float
    of_weight: float
    costs: Costs
    grouping: float
    of_group: float
    of_cell: float
    growth: float
    growth_of_sums: float
    _results: dict[tuple, tuple[Any, float]] = field(default_factory=dict)

    def run(self, function: Callable, *arguments: Any) -> tuple[Any, float]:
        """Run a unit of work, but for one that was run before; return its result and seconds."""
        key = function, *map(_key, arguments)
        if key not in self._results:
            self._results[key] = timed(function, *arguments)
        return self._results[key]

    def summary(self) -> str:
        """Return in a sentence or two what was measured."""
        weights = self.model.weights
        return (
            f"{len(self.part):,} instances, {len(self.annotations):,} labels in {len(self.groups):,} groups: "
            f"{weights.nnz / weights.shape[1]:.0f} weights of a label, times n^{self.growth:.2f}; "
            f"{self.of_group * weights.shape[0]:.4f} s a group and {self.of_cell * 1e9:.0f} ns a feature of an "
            f"instance to learn; {self.of_instance * 1e6:.0f} us an instance and {self.of_weight * 1e12:.1f} us a "
            f"million weights to predict; {self.grouping:.1f} s to make groups; "
            f"sums of two parts are {self.growth_of_sums:.2f} times as large"
        )

    @classmethod
    def of(cls, data: Dataset, size: int, options: Options) -> "Rehearsal":
        """Measure with the first instances of a file, at most so many, with as many others, and some with all."""
        labels, _ = data.occurring_labels()
        annotations = count_annotations(labels)
        size = min(size, len(data) // 2)

        def some(start: int, end: int, number: int = 0) -> PartRows:
            return PartRows(Features.of(data.features[start:end]), labels[start:end], number)

        part, other, fewer = some(0, size), some(size, 2 * size, 1), some(size, size + size // _FEWER, 1)
        rates = LabelFrequency.of(options.c, labels.shape).rates
        settings = Settings(options.cost, options.eta0, options.epochs, thin=True)
        chosen = HyperParameters(rates=rates, settings=settings, prune=_PRUNE)

        grouped = labels_to_group(annotations)
        everything = some(0, len(data))
        blocks = [grouped[start : start + _LABELS] for start in range(0, len(grouped), _LABELS)]
        sums = [group_units.sums_of_labels(everything, block, INSTANCES) for block in blocks]
        given = [directions_of(of_block) for of_block in sums], grouped, len(annotations), _RUN.seed
        groups, grouping = timed(group_units.group, *given)
        one, another = (group_units.sums_of_labels(each, grouped, INSTANCES) for each in (part, other))

        model_of_groups = _model_of_groups(other, groups, chosen)
        listed = [group_units.listed(each, groups, model_of_groups, len(each), _RUN) for each in (fewer, other)]
        _learn(listed[0], groups, chosen)  # compiled
        (few, few_cells, few_seconds), (model, cells, seconds) = (_learn(each, groups, chosen) for each in listed)
        of_cell = max(seconds - few_seconds, 0.0) / (cells - few_cells)
        of_group = max(seconds - of_cell * cells, 0.0) / (len(groups) - 1) / part.features.width
        top = Top.enough_for(np.diff(part.labels.indptr), len(annotations), options.c)
        (_, quickly), (predictions, slowly) = (_predicted(part, each, top) for each in (few, model))
        of_weight = max(slowly - quickly, 0.0) / (model.weights.nnz - few.weights.nnz) / len(part)
        of_instance = max(slowly / len(part) - of_weight * model.weights.nnz, 0.0)
        return cls(
            part,
            annotations / len(data),
            options,
            groups,
            model_of_groups,
            model,
            predictions,
            of_instance,
            of_weight,
            costs_of(group_units.of_first_group(other, np.flatnonzero(groups.group_of == 0)), settings),
            grouping,
            of_group,
            of_cell,
            _growth(part, everything, model_of_groups, groups, chosen),
            (one + another).nnz / one.nnz,
        )


def timed(function: Callable, *arguments: Any) -> tuple[Any, float]:
    """Run a unit of work; return its result and seconds of processor time, since other work may be going on."""
    start = time.process_time()
    found = run_unit(function, *arguments)
    return found, time.process_time() - start


def cells_of(picked: Picked) -> int:
    """Count the features of the instances that each group learns from, of each selection."""
    features = np.diff(picked.features.sparse.indptr) * picked.selected.sum(axis=0)
    return int((picked.instances @ features).sum())


def _key(argument: Any) -> Any:
    """Return what is the same only for the same argument: of results, which are kept here, where they are."""
    if isinstance(argument, list):
        return tuple(map(_key, argument))
    if isinstance(argument, np.ndarray):
        return argument.tobytes()
    if isinstance(argument, slice):
        return argument.start, argument.stop
    return (
        id(argument)
        if isinstance(argument, csr_array | BinnedCells | HeldOut | PartRows | LabelGroups | LinearModel)
        else argument
    )


def _model_of_groups(part: PartRows, groups: LabelGroups, chosen: HyperParameters) -> LinearModel:
    annotated = group_units.annotated_groups(part, groups)
    of_blocks = (group_units.of_labels(annotated, block) for block in sgd.label_blocks(len(groups) - 1, _RUN))
    return group_units.side_by_side(
        [mixing.pruned_model(_from_all(of_block, chosen.settings), chosen.prune) for of_block in of_blocks]
    )


def _from_all(part: PartRows, settings: Settings) -> LinearModel:
    """Learn labels from all instances of a part."""
    rates = np.ones(part.labels.shape[1])
    start, pass_ = _start(part, rates), Pass(EVERYTHING, replace(settings, epochs=1), len(part))

    def learned(block: slice) -> LinearModel:
        return parts.learn(part, pass_, block, rates, start.block(block), _RUN)

    return parts.joined([learned(block) for block in sgd.label_blocks(len(rates), _RUN)])


def _start(part: PartRows, rates: np.ndarray) -> LinearModel:
    return Selected(EVERYTHING, [len(part)], parts.count(part, EVERYTHING, 0)[1]).start(rates)


def _learn(listed: PartRows, groups: LabelGroups, chosen: HyperParameters) -> tuple[LinearModel, int, float]:
    """Learn all groups from a part; return the model, the cells of those but the first, and their seconds."""
    first, *others = group_units.negatives_of(listed).groups()
    dense = _from_all(group_units.of_first_group(listed, first), chosen.settings)
    of_first = mixing.pruned_model(dense, chosen.prune)
    of_others, cells, seconds = _learn_groups(listed, 1, others, chosen)
    labels = [first, np.concatenate(others)]
    return group_units.side_by_side([of_first, of_others], labels), cells, seconds


def _learn_groups(
    listed: PartRows, first: int, groups: list[np.ndarray], chosen: HyperParameters
) -> tuple[LinearModel, int, float]:
    """Learn groups from one on, of these labels, from a part; return the model, cells, and seconds."""
    labels, sizes = np.concatenate(groups), np.array([len(group) for group in groups])
    picked = group_units.pick_groups(listed, first, first + len(groups), labels, [EVERYTHING], _RUN.seed)
    bias = _start(listed, chosen.rates).bias[labels]
    start = LinearModel(np.empty((0, len(labels)), np.float32), bias)
    whole = Whole(len(listed), listed.features.mean_squared_norm(np.arange(len(listed))), chosen.settings, start)
    given = [picked], sizes, [whole], chosen.rates[labels], chosen.prune, _RUN
    (model,), seconds = timed(group_units.learn_groups, *given)
    return model, cells_of(picked), seconds


def _growth(
    some: PartRows, everything: PartRows, model_of_groups: LinearModel, groups: LabelGroups, chosen: HyperParameters
) -> float:
    """Return by which power of the number of instances the weights grow that are left of the model of some groups."""

    def weights(part: PartRows) -> int:
        listed = group_units.listed(part, groups, model_of_groups, len(part), _RUN)
        labels = group_units.negatives_of(listed).groups()
        drawn = range(1, len(groups), -(-len(groups) // _GROUPS))
        return sum(_learn_groups(listed, group, [labels[group]], chosen)[0].weights.nnz for group in drawn)

    return float(np.log(weights(everything) / weights(some)) / np.log(len(everything) / len(some)))


def _predicted(part: PartRows, model: LinearModel, top: Top) -> tuple[csr_array, float]:
    model.top(part.features[:1], top, _RUN)  # makes what predictions are looked up in, as a worker does once
    return timed(model.top, part.features, top, _RUN)


def costs_of(part: PartRows, settings: Settings) -> Costs:
    """Measure what labels take that are learned from all instances, on a part."""
    few = part.fetch(np.arange(min(len(part), 100)))
    _from_all(PartRows(few.features, few.labels), settings)  # compiled
    model, learning = timed(_from_all, part, settings)
    _, predicting = timed(parts.predict_held_out, part, [model], [EVERYTHING], None, None, _RUN)
    cells = len(part) * part.labels.shape[1]
    return Costs(learning / cells, predicting / cells, timed(parts.added, model, model)[1] / model.weights.nbytes)
