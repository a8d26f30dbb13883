"""The shortlist of many labels, of instances in parts, each of which keeps the list of its own instances.

The directions of labels are sums over the parts. The model that tells to which groups of labels an instance is near is
learned by shards (`mixing`), a block of groups at a time.
"""

from collections.abc import Sequence
from dataclasses import replace
from operator import add
from typing import TYPE_CHECKING

from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.select.settling import Settled
from mpu_cli.core.side.clustering import INSTANCES, directions_of
from mpu_cli.core.side.shortlist import SIZE, labels_to_group
from mpu_cli.core.solver import sgd
from mpu_cli.core.train import group_units
from mpu_cli.core.train.mixing import Mixing
from mpu_cli.core.train.parts import EVERYTHING
from mpu_cli.runtime.executor import Handle, reduced
from mpu_cli.runtime.run import Run

if TYPE_CHECKING:
    from mpu_cli.core.train.instances import Instances

# Labels whose instances are summed up at a time.
_LABELS = 4096
# Instances of a part by which a label is known, at least, if it has so many there.
_FEWEST = 20


def with_shortlists(
    instances: "Instances", settled: Settled, n_shards: int, rounds: int, run: Run
) -> tuple[Sequence[Handle], Handle]:
    """Find the groups of labels, and the instances of each part to learn each from.

    Parameters
    ----------
    instances : Instances
    settled : Settled
    n_shards, rounds : int
        By which the model of groups is learned.
    run : Run

    Returns
    -------
    parts : sequence of Handle
        Of `parts.PartRows`, with their shortlists.
    groups : Handle
        Of `shortlist.Groups`.
    """
    executor, parts, unit_run = instances.executor, instances.parts, run.on_a_worker()
    grouped = labels_to_group(instances.annotations)
    blocks = sgd.label_blocks(-(-len(grouped) // SIZE), run)
    with run.step("shortlist", len(parts) * (len(blocks) * rounds + 1)) as tick:
        most = max(-(-INSTANCES // len(parts)), _FEWEST)
        directions = []
        for start in range(0, len(grouped), _LABELS):
            some = grouped[start : start + _LABELS]
            of_parts = [executor.submit(group_units.sums_of_labels, part, some, most) for part in parts]
            directions.append(executor.submit(directions_of, reduced(executor, add, of_parts)))
        groups = executor.submit(group_units.group, directions, grouped, len(instances.annotations), run.seed)

        annotated = [executor.submit(group_units.annotated_groups, part, groups) for part in parts]
        selected = replace(instances, parts=annotated).count(EVERYTHING, run)
        submitted: list[Handle] = []
        models = []
        for block in blocks:
            frequency = LabelFrequency.of(1.0, (len(instances), block.stop - block.start))
            mixing = Mixing(executor, frequency, n_shards, rounds, unit_run, submitted.append)
            of_block = [executor.submit(group_units.of_labels, part, block) for part in annotated]
            annotations = selected.annotations[block]
            model = mixing.learn(of_block, replace(selected, annotations=annotations), settled.settings, len(instances))
            models.append(executor.submit(group_units.pruned_model, model, settled.prune))
        model = executor.submit(group_units.side_by_side, models)
        lists = [executor.submit(group_units.listed, part, groups, model, len(instances), unit_run) for part in parts]
        executor.wait([*submitted, *lists], tick)
    return lists, groups
