"""The choice of features by the estimate that chooses C: those of the data, scaled ones, or those of an RBF kernel."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from mpu_cli.core.features import SCALINGS, RbfFeatures, Scaling
from mpu_cli.core.frequency.label_frequency import is_estimated
from mpu_cli.core.limits import refuse_large_features
from mpu_cli.core.options import LINEAR, RBF, Options
from mpu_cli.core.predictions import FEW_LABELS
from mpu_cli.core.problem import Problem
from mpu_cli.core.sample import Instances
from mpu_cli.core.selection import HyperParameters, choose_hyper_parameters, climb, estimates_of
from mpu_cli.core.work import Work, quiet
from mpu_cli.errors import DataError, OverflowingError

# By the number of features (`RbfFeatures.learned`), and how many landmarks; where the climbs along them start.
GAMMAS, FIRST_GAMMA = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0), 1.0
LANDMARKS, FIRST_LANDMARKS = (150, 300, 600, 1200), 300
# A kernel standardises, and so fills up, its features: of more of them it is another tool.
MOST_FEATURES = 500
# Of fewer, the estimate tells differences between features no better than chance does.
FEWEST_INSTANCES = 100
# Expected F1 that other features than those of the data have to gain: a linear model predicts faster, and can be
# explained.
_WORTHWHILE = 2e-3
_DIRECTIONS = "features of labels are directions in the space of features"


@dataclass(frozen=True)
class Chosen:
    """Features, as a training learns from them."""

    instances: Instances  # with these features
    hyper_parameters: HyperParameters | None = None  # chosen with them; None: they are still to be chosen
    rbf: RbfFeatures | None = None  # what makes them of an instance's own; None: they are its own
    scaling: Scaling | None = None  # how they are scaled; None: they are as in the data

    @property
    def f1(self) -> float:
        """The F1 of the chosen C, expected on complete labels; 0 where C was not chosen."""
        chosen = self.hyper_parameters
        return 0.0 if chosen is None or chosen.f1 is None else chosen.f1

    def scaled(self, name: str) -> "Chosen":
        """Return these features scaled."""
        scaling = Scaling.learned(self.instances.features, name)
        return Chosen(replace(self.instances, features=scaling.of(self.instances.features)), scaling=scaling)


def choose_features(problem: Problem, options: Options, run: Work) -> Chosen:
    """Choose features, with gamma and the number of landmarks, and with them C; parameters as for `stacking.train`.

    DataError where the options ask for a kernel of data that it is not for, TooLargeError where its features would not
    fit in memory.
    """
    own = Chosen(Instances.of(problem))
    if options.features == LINEAR:
        return own
    if options.features in SCALINGS:
        if own.instances.label_features is not None:
            raise DataError(f"features cannot be scaled here: {_DIRECTIONS}; choose linear features")
        return own.scaled(options.features)
    obstacle = _obstacle(own.instances)
    if options.features == RBF and obstacle is not None:
        raise DataError(f"an RBF kernel cannot be used here: {obstacle}; choose linear features")
    can_tell = len(problem) >= FEWEST_INSTANCES and options.cost is None
    linear = own
    if options.features is None and can_tell and _may_scale(own.instances):
        with run.step("choose features") as tick:
            linear = _best_scaling(own, options, run, tick)
    can_tell &= len(problem) <= options.sample
    if obstacle is not None or (options.features is None and not can_tell):
        return linear
    refuse_large_features(len(problem), max(LANDMARKS))
    problem = replace(problem, kin=own.instances.kin)  # features of a kernel are equal up to rounding
    linear = replace(linear, hyper_parameters=choose_hyper_parameters(linear.instances, options, run))
    with run.step("choose features") as tick:
        kernel = _best_kernel(problem, options, run, linear, tick)
    if options.features is None and kernel.f1 < linear.f1 + _WORTHWHILE:
        return linear
    return replace(kernel, hyper_parameters=None)  # c comes from the features that tell labels apart better


def _may_scale(instances: Instances) -> bool:
    return instances.evenness.uneven and instances.label_features is None


def _best_scaling(own: Chosen, options: Options, run: Work, tick: Callable[[], None]) -> Chosen:
    """Return features as in the data, or scaled, by the expected F1.

    All are compared by the same c, the largest: features that tell labels badly find c too low, and expect too much.
    """
    silent, found = quiet(run), []
    for candidate in (own, *map(own.scaled, SCALINGS)):
        with suppress(OverflowingError):
            estimates = estimates_of(candidate.instances, options, silent) if is_estimated(options.c) else None
            found.append((candidate, estimates))
        tick()
    estimated = [estimates for _, estimates in found if estimates is not None]
    same_c = max(estimated, key=lambda one: one.overall.c, default=None)
    best, most = own, 0.0
    for candidate, _ in found:
        with suppress(OverflowingError):
            f1 = choose_hyper_parameters(candidate.instances, options, silent, estimates=same_c).f1 or 0.0
            if f1 >= most + (_WORTHWHILE if best is own and candidate is not own else 0):
                best, most = candidate, f1
        tick()
    return best


def _obstacle(instances: Instances) -> str | None:
    """Return why a kernel is not for these instances; None if it is."""
    if instances.label_features is not None:
        return _DIRECTIONS
    if len(instances.annotations) > FEW_LABELS:
        return f"there are more than {FEW_LABELS} labels"
    if instances.width > MOST_FEATURES:
        return f"there are more than {MOST_FEATURES} features"
    if not instances.features.dense.shape[1]:
        return "most values are 0"
    return None


def _best_kernel(problem: Problem, options: Options, run: Work, linear: Chosen, tick: Callable[[], None]) -> Chosen:
    """Climb along gamma, then along the number of landmarks, as long as the expected F1 rises.

    c and the loss are those chosen for linear features, so that neither makes a difference.
    """
    silent = quiet(run)
    chosen = linear.hyper_parameters
    assert chosen is not None
    same_loss = replace(options, loss=chosen.settings.loss)

    def candidate(gamma: float, m: float) -> Chosen:
        rbf = RbfFeatures.learned(problem.features, gamma, int(m), run.seed)
        instances = Instances.of(replace(problem, features=rbf.of(problem.features, run)))
        data = linear.instances
        instances = replace(instances, evenness=data.evenness, share_repeated=data.share_repeated)
        tick()
        return Chosen(instances, choose_hyper_parameters(instances, same_loss, silent, estimates=chosen.estimates), rbf)

    first = candidate(FIRST_GAMMA, FIRST_LANDMARKS)
    best = climb(lambda gamma: candidate(gamma, FIRST_LANDMARKS), GAMMAS, FIRST_GAMMA, first)
    assert best.rbf is not None
    gamma = best.rbf.gamma * problem.features.shape[1]
    sizes = tuple(m for m in LANDMARKS if m <= FIRST_LANDMARKS or m <= len(problem))
    return climb(lambda m: candidate(gamma, m), sizes, FIRST_LANDMARKS, best)
