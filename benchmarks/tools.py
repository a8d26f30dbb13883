"""The tools that are compared: the command lines that train and predict."""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PEERS = Path(__file__).parent / "peers"

# Options of `mpu train`. C is what cross-validation chooses on the first 9,000 instances.
MPU_SETTINGS = {
    "1 level, C and c given": ("--levels", "1", "--c", "1", "--cost", "300"),
    "1 level, c given": ("--levels", "1", "--c", "1"),
    "2 levels, automatic": ("--levels", "2"),
    "2 levels, automatic, 5 folds": ("--levels", "2", "--folds", "5"),
}
MPU_KERNELS = ("numba", "numpy")

PEER_PACKAGES = ("scikit-learn", "libmultilabel", "liblinear-multicore", "napkinxc")
# Script in peers/ and its method.
PEER_METHODS = {
    "scikit-learn SGDClassifier": ("scikit_learn.py", "sgd"),
    "scikit-learn LinearSVC": ("scikit_learn.py", "svc"),
    "LibMultiLabel one-vs-rest": ("libmultilabel_linear.py", "1vsrest"),
    "LibMultiLabel one-vs-rest, C = 10": ("libmultilabel_linear.py", "1vsrest-c10"),
    "LibMultiLabel tree": ("libmultilabel_linear.py", "tree"),
    "napkinXC BR": ("napkin_xc.py", "br"),
    "napkinXC BR, AdaGrad": ("napkin_xc.py", "br-adagrad"),
    "napkinXC PLT": ("napkin_xc.py", "plt"),
    "napkinXC PLT, AdaGrad": ("napkin_xc.py", "plt-adagrad"),
}


@dataclass(frozen=True)
class Tool:
    """A way to learn from a file and to predict another.

    Attributes
    ----------
    name : str
    train : sequence of str
        Command line; ``{data}`` and ``{model}`` stand for paths.
    predict : sequence of str
        Command line; ``{model}``, ``{data}`` and ``{output}`` stand for paths.
    """

    name: str
    train: Sequence[str]
    predict: Sequence[str]


def mpu_tools(mpu: Sequence[str]) -> Iterator[Tool]:
    """Give `mpu` with each kernel, where it can be chosen, and all settings.

    Parameters
    ----------
    mpu : sequence of str
        How `mpu` is started.
    """
    for kernel, chosen in _kernel_options(mpu).items():
        for setting, options in MPU_SETTINGS.items():
            yield Tool(
                f"mpu{kernel}, {setting}",
                (*mpu, "train", "{data}", "-o", "{model}", "--quiet", *options, *chosen),
                (*mpu, "predict", "{model}", "{data}", "-o", "{output}", *chosen),
            )


def _kernel_options(mpu: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """Name and options of each kernel; one without either where `mpu` knows no ``--kernel``."""
    manual = subprocess.run([*mpu, "train", "--help"], capture_output=True, text=True, check=True).stdout
    if "--kernel" not in manual:
        return {"": ()}
    return {f" {kernel}": ("--kernel", kernel) for kernel in MPU_KERNELS}


def peer_tools(python: str) -> Iterator[Tool]:
    """Give all peers, as run by the Python interpreter of the environment that they are installed in."""
    for name, (script, method) in PEER_METHODS.items():
        start = (python, str(PEERS / script), method)
        yield Tool(name, (*start, "train", "{data}", "{model}"), (*start, "predict", "{model}", "{data}", "{output}"))
