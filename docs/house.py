"""The map of the house: packages and what they import, drawn from the code each time that the site is built."""

import ast
from collections.abc import Iterator
from html import escape
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive

ROOT = Path(__file__).parent.parent
# Pixels: a box, and the room from one to the next.
WIDTH, HEIGHT, ASIDE, BELOW = 112, 26, 18, 30


def imports(package: str) -> dict[str, set[str]]:
    """Give, for each part of a package (`mpu_cli`, `mpu_cli.core`), those of its other parts that it imports."""
    folder = ROOT.joinpath(*package.split("."))
    parts = {
        path.stem: [path] if path.is_file() else sorted(path.rglob("*.py"))
        for path in sorted(folder.iterdir())
        if path.name != "__init__.py" and (path.suffix == ".py" or (path / "__init__.py").exists())
    }
    named = {part: {name for path in paths for name in _named(path, package)} for part, paths in parts.items()}
    return {part: (names & parts.keys()) - {part} for part, names in named.items()}


def _named(path: Path, package: str) -> Iterator[str]:
    """Names right below a package, of what a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            modules = [f"{node.module}.{alias.name}" for alias in node.names]
        for module in modules:
            if module.startswith(f"{package}."):
                yield module.removeprefix(f"{package}.").partition(".")[0]


def depths(imported: dict[str, set[str]]) -> dict[str, int]:
    """Give the number of steps from each part down to one that imports nothing; imports in a circle are an error."""
    known: dict[str, int] = {}
    while len(known) < len(imported):
        ready = [part for part, others in imported.items() if part not in known and others <= known.keys()]
        if not ready:
            raise ValueError(f"imports in a circle: {sorted(imported.keys() - known.keys())}")
        known |= {part: max((known[other] + 1 for other in imported[part]), default=0) for part in ready}
    return known


def arrows(imported: dict[str, set[str]]) -> list[tuple[str, str]]:
    """Give the imports that are not implied by others, as arrows."""
    reached: dict[str, set[str]] = {}
    for part in sorted(imported, key=depths(imported).__getitem__):
        reached[part] = imported[part].union(*(reached[other] for other in imported[part]))
    return [
        (part, other)
        for part, others in imported.items()
        for other in sorted(others)
        if not any(other in reached[between] for between in others)
    ]


def drawn(package: str) -> str:
    """Draw the map of a package as SVG; colours are those of the page, dark or light."""
    imported = imports(package)
    depth = depths(imported)
    rows = [[part for part in imported if depth[part] == row] for row in range(max(depth.values()), -1, -1)]
    width = max(map(len, rows)) * (WIDTH + ASIDE)
    at = {
        part: (width / 2 + (place - (len(row) - 1) / 2) * (WIDTH + ASIDE), number * (HEIGHT + BELOW))
        for number, row in enumerate(rows)
        for place, part in enumerate(row)
    }
    lines = [
        f'<path d="M{x:g},{y + HEIGHT:g} C{x:g},{y + HEIGHT + BELOW:g} '
        f'{to_x:g},{to_y - BELOW:g} {to_x:g},{to_y - 4:g}"/>'
        for (x, y), (to_x, to_y) in ((at[part], at[other]) for part, other in arrows(imported))
    ]
    boxes = [
        f'<g><title>{escape(about(package, part))}</title><rect x="{x - WIDTH / 2:g}" y="{y:g}"/>'
        f'<text x="{x:g}" y="{y + 17:g}">{part}</text></g>'
        for part, (x, y) in at.items()
    ]
    box = f'viewBox="0 -2 {width} {len(rows) * (HEIGHT + BELOW)}" style="max-width: {width}px"'
    return (
        f'<svg class="house" role="img" aria-label="Imports inside {package}" {box}><defs><marker id="tip-{package}" '
        'viewBox="0 0 6 6" refX="3" refY="3" markerWidth="6" markerHeight="6" orient="auto"><path d="M0,0 L6,3 L0,6z"/>'
        f'</marker></defs><g marker-end="url(#tip-{package})">{"".join(lines)}</g>{"".join(boxes)}</svg>'
    )


def about(package: str, part: str) -> str:
    """Give the first sentence of a part's docstring, without its marks of code."""
    path = ROOT.joinpath(*package.split("."), part)
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")[0].replace("`", "")


class House(Directive):
    """Draw the map of a package, and say in a line what each part is, those first that import the others."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the drawing, and the lines in a fixed-width font."""
        package = self.arguments[0]
        depth = depths(imports(package))
        parts = sorted(depth, key=lambda part: (-depth[part], part))
        lines = "\n".join(f"{part:12} {about(package, part)}" for part in parts)
        return [nodes.raw("", drawn(package), format="html"), nodes.literal_block("", lines)]
