"""Compare methods as in Kong et al. 2014, Section 3: cross-validated, with several shares of missing labels."""

from importlib.util import find_spec
from pkgutil import iter_modules


def method_names() -> list[str]:
    """Return the names of the methods in `methods`. Help texts need them, so nothing there is imported."""
    package = find_spec(f"{__name__}.methods")
    assert package is not None
    return sorted(module.name.replace("_", "-") for module in iter_modules(package.submodule_search_locations))
