"""``--method`` and the options of the methods; which options belong to which."""

from collections.abc import Callable, Iterable
from functools import wraps

import click
from click.core import ParameterSource

from mpu_cli.cli.common import POSITIVE, WEIGHT, FiniteRange

# As `mpu_cli.methods.NAMES`, without its heavy imports.
METHODS = ("mpu", "br", "elkan08", "m3l-linear", "m3l-rbf", "well")
_MPU = ("mpu",)
_LOGISTIC = ("mpu", "br", "elkan08")
_M3L = ("m3l-linear", "m3l-rbf")
# Parameters of `train` that not every method has, and the methods that have them.
_BELONGS_TO = {
    **dict.fromkeys(("levels", "c", "threshold", "stack_scale", "warm_start"), _MPU),
    "resume": ("mpu", "br"),
    "epochs": _LOGISTIC,
    **dict.fromkeys(("cost", "folds", "sample"), _LOGISTIC + _M3L),
    **dict.fromkeys(("c_method", "elkan_variant"), ("elkan08",)),
    "label_correlation": _M3L,
    "gamma": ("m3l-rbf", "well"),
    **dict.fromkeys(("alpha", "beta", "unlabeled"), ("well",)),
}


def method_options(function: Callable) -> Callable:
    """Add ``--method NAME`` and the options that only some methods have.

    The command gets `method`, `unlabeled`, and the other options as the dict `of_method`. An option of another method
    is wrong usage.
    """

    @wraps(function)
    def command(*args, method: str, unlabeled: str | None, **kwargs):
        _refuse_others(click.get_current_context(), method)
        if method == "well" and unlabeled is None:
            raise click.UsageError("well labels the instances of a file while it learns: name it, --unlabeled FILE.")
        of_method = {name: kwargs.pop(name) for name in _OPTIONS if name not in ("method", "unlabeled")}
        return function(*args, method=method, unlabeled=unlabeled, of_method=of_method, **kwargs)

    for option in reversed(_OPTIONS.values()):
        command = option(command)
    return command


def of_this_method(method: str, names: Iterable[str]) -> list[str]:
    """Return those of some parameters of `train` that a method has."""
    return [name for name in names if method in _BELONGS_TO.get(name, METHODS)]


def _refuse_others(ctx: click.Context, method: str) -> None:
    for param in ctx.command.params:
        given = ctx.get_parameter_source(param.name) is not ParameterSource.DEFAULT
        if given and not of_this_method(method, [param.name]):
            owners = " and ".join(_BELONGS_TO[param.name])
            raise click.UsageError(f"{param.opts[-1]} is an option of {owners}, not of {method}.")


_OPTIONS = {
    "method": click.option(
        "--method",
        type=click.Choice(METHODS),
        default="mpu",
        show_default=True,
        help="mpu: Kong et al. 2014. br: a logistic regression a label, missing labels taken for negatives. elkan08: "
        "Elkan and Noto 2008, a label at a time. m3l-linear, m3l-rbf: max-margin with a prior of label correlations, "
        "Hariharan et al. 2010. well: weak labels, Sun et al. 2010, for the instances of --unlabeled.",
    ),
    "c_method": click.option(
        "--c-method",
        type=click.Choice(["e1", "e2", "e3"]),
        default="e1",
        show_default=True,
        help="elkan08: how c is estimated, for each label.",
    ),
    "elkan_variant": click.option(
        "--elkan-variant",
        type=click.Choice(["ratio", "weighted"]),
        default="ratio",
        show_default=True,
        help="elkan08: divide Pr(s=1|x) by c, or learn once more with unlabelled instances partly positive.",
    ),
    "label_correlation": click.option(
        "--label-correlation",
        type=FiniteRange(0, 1, max_open=True),
        help="m3l: how far the prior goes from independent labels to their cosine similarities.",
    ),
    "gamma": click.option(
        "--gamma",
        type=POSITIVE,
        help="m3l-rbf, well: the kernel is exp(-gamma |x - x'|^2). Default: by the distances of the instances.",
    ),
    "alpha": click.option(
        "--alpha", type=WEIGHT, default=100.0, show_default=True, help="well: weight of smoothness over the graph."
    ),
    "beta": click.option(
        "--beta", type=WEIGHT, default=10.0, show_default=True, help="well: weight of the annotated labels."
    ),
    "unlabeled": click.option(
        "--unlabeled",
        metavar="FILE",
        type=click.Path(allow_dash=True),
        help="well: the instances to label; those and no others can be predicted with the model.",
    ),
}
