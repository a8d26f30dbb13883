"""The methods that are compared (Kong et al. 2014, Section 3.3), each a module here with a class `Method`.

Adding one adds one file. A method from elsewhere is the class `Method` of a file, ``my_method.py``, or a class by its
module, ``module:Class``, also one in the current directory; of a classifier in scikit-learn's conventions, each label
is learned.
"""

import inspect
import sys
from ast import literal_eval
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from itertools import takewhile
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from mpu_cli.errors import MpuError, one_line
from mpu_cli.runtime.run import Run


def names() -> list[str]:
    """Return the names of the methods in this directory."""
    return sorted(module.name.replace("_", "-") for module in iter_modules(__path__))


def make(label: str, run: Run) -> Any:
    """Return a method from its name and its options, ``name:option=value:option=value``.

    A method has ``fit(X, S)`` and ``predict(X)``, which returns the scores of all labels, an array (n, q). X is a
    csr_array of float32, (n, D), S one of bool, (n, q): the annotations. It may have attributes:

    `threshold`: the score from which a label is predicted, or an array (q,); else 0.5.
    `c`: its label frequency, or an array (q,); else 1.
    `transductive`: whether it is ``fit(X, S, T)``, where T are the instances to predict.

    A parameter `run` of its constructor gets the `Run`, which has the `seed`. With the option ``tuned=True``, any
    method gets the threshold of `mpu_cli.experiment.tuned`.

    Raises MpuError (there is no such method, or it does not take these options).
    """
    words = label.split(":")
    of_name = list(takewhile(lambda word: "=" not in word, words))
    made = _class(*of_name)
    options: dict[str, Any] = {}
    for word in words[len(of_name) :]:
        key, _, text = word.partition("=")
        if (key := key.replace("-", "_")) in options:
            raise MpuError(f"{label}: {key!r} is duplicate")
        options[key] = _value(text)
    if options.pop("tuned", False):
        from mpu_cli.experiment.tuned import Method as Tuned

        return Tuned(":".join(word for word in words if not word.startswith("tuned=")), run)
    try:
        takes_run = "run" in inspect.signature(made).parameters
        method = made(**options, run=run) if takes_run else made(**options)
    except MpuError as error:
        raise MpuError(f"{label}: {error}") from None
    except Exception as error:  # whatever the class of others raises
        raise MpuError(f"{label}: {one_line(str(error))}") from error
    if hasattr(method, "predict") and not hasattr(method, "get_params"):
        return method
    from mpu_cli.experiment.scikit_learn import Method as Classifiers

    return Classifiers(method, label, run)


def _class(name: str = "", attribute: str = "", *more: str) -> Any:
    try:
        if more:
            raise AttributeError
        if name in names():
            module = import_module(f"{__name__}.{name.replace('-', '_')}")
        elif name.endswith(".py"):
            module = _of_file(Path(name))
        elif attribute:
            if str(Path.cwd()) not in sys.path:
                sys.path.append(str(Path.cwd()))
            module = import_module(name)
        else:
            raise AttributeError
        return getattr(module, attribute or "Method")
    except (AttributeError, ImportError, OSError) as error:
        why = f" ({one_line(str(error))})" if str(error) else ""
        raise MpuError(
            f"{':'.join(filter(None, (name, attribute, *more)))!r} is not a method{why}: "
            f"give {', '.join(names())}, a file.py with a class Method, or module:Class"
        ) from None


def _of_file(path: Path) -> Any:
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None  # of a name that ends in .py
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _value(text: str) -> Any:
    try:
        return literal_eval(text)
    except (ValueError, SyntaxError):
        return text
