"""Settings of Sphinx: `make docs` builds the site, `make man` the manual pages. Neither needs a network."""

import ast
import re
import sys
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from latex2mathml.converter import convert

from mpu_cli import __version__
from mpu_cli.cli.commands import mpu

sys.path.insert(0, str(Path(__file__).parent))
from house import House

project = "mpu"
author = "the mpu authors"
release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "sphinx_click", "sphinx_gallery.gen_gallery"]
exclude_patterns = ["_build"]
nitpicky = True  # a reference that leads nowhere is a warning, and warnings are errors

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["toc.not_included"]  # docs/choices is outside the navigation
highlight_language = "none"
smartquotes = False  # which would make one dash of the two before an option
default_role = "code"  # single backticks in docstrings and help texts

autodoc_typehints = "none"  # the docstrings say types and shapes
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
toc_object_entries_show_parents = "hide"

# The scripts of the gallery are run by `make docs`; an error in one is one of the build. Manual pages need none of it.
sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": "",  # run all of them
    "within_subsection_order": "FileNameSortKey",  # the tutorial first
    "doc_module": ("mpu_cli",),
    "backreferences_dir": "gallery/uses",
    "capture_repr": (),  # what is printed, and pictures
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 3600,  # seconds; less says more about the machine
}

html_theme = "furo"
html_title = f"mpu {release.partition('+')[0]}"  # the commit would be broken over two lines
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_copyright = False

# Every command has a page in commands/, of which its manual page is made too.
summaries = {name: command.get_short_help_str(limit=200).rstrip(".") for name, command in mpu.commands.items()}
man_pages = [
    ("commands/mpu", "mpu", "learn multi-label classifiers from incomplete labels", [author], 1),
    *((f"commands/{name}", f"mpu-{name}", summary, [author], 1) for name, summary in summaries.items()),
]
for name, command in mpu.commands.items():
    command.short_help = summaries[name]  # in lists of commands too, the whole sentence


def as_literal_blocks(_app, _ctx, lines: list[str]) -> None:
    """Set the examples of a help text, which sphinx-click gives as lines of verse, in a fixed-width font."""
    example = re.compile(r"^\| Example:\n((?:\|.*\n?)+)", re.MULTILINE)
    text = example.sub(lambda found: f"Example::\n\n{_indented(found[1])}\n", "\n".join(lines))
    lines[:] = text.split("\n")


def escape_bars(_app, _ctx, lines: list[str]) -> None:
    """Keep the bars of a norm, |x - x'|, from being read as markup."""
    lines[:] = [line.replace("|x - x'|", r"\|x - x'\|") for line in lines]


def _indented(verse: str) -> str:
    return re.sub(r"^\| ?", "    ", verse, flags=re.MULTILINE)


def as_manual(app, doctree: nodes.document, _docname: str) -> None:
    """Give manual pages the sections that they have everywhere: SYNOPSIS, DESCRIPTION, OPTIONS."""
    if app.builder.name != "man":
        return
    for page in doctree.findall(lambda node: isinstance(node, nodes.section) and node.next_node(nodes.rubric)):
        sections = [nodes.section("", nodes.title("", "Description"))]
        for child in page.children[1:]:
            if isinstance(child, nodes.rubric):
                title = "Synopsis" if child.astext() == "Usage" else child.astext()
                sections.append(nodes.section("", nodes.title("", title)))
            else:
                sections[-1] += child
        sections[:2] = sections[1::-1]
        page.children[1:] = []
        page += sections
        break


def visit_math(self, node: nodes.Node) -> None:
    """Write a formula as MathML, which browsers show without scripts or fonts from elsewhere."""
    display = "block" if isinstance(node, nodes.math_block) else "inline"
    self.body.append(convert(node.astext(), display=display))
    raise nodes.SkipNode


def for_the_site(_app, _docname: str, source: list[str]) -> None:
    """Lead links to scripts of the gallery to their pages, and read directives in comments, which GitHub leaves out."""
    text = re.sub(r"\]\([./]*examples/gallery/(\w+)\.py\)", r"](/gallery/\1.rst)", source[0])
    source[0] = re.sub(r"<!-- (\{.+?)\s*-->", r"```\1\n```", text, flags=re.DOTALL)


class Modules(Directive):
    """List the modules of a package, each with the first sentence of its docstring."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return a list in a fixed-width font."""
        lines = []
        root = Path(__file__).parent.parent / self.arguments[0]
        for path in sorted(root.rglob("*.py"), key=lambda path: path.with_suffix("").parts):
            depth = len(path.relative_to(root).parts) - 1
            about = (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")[0].replace("`", "")
            if path.name != "__init__.py":
                lines.append(f"{'  ' * (depth + 1)}{path.name:{24 - 2 * depth}} {about}")
            elif depth:
                lines.append(f"{'  ' * depth}{path.parent.name + '/':{26 - 2 * depth}} {about}")
        return [nodes.literal_block("", "\n".join(lines))]


def setup(app) -> None:
    """Add what is above to Sphinx."""
    app.add_directive("house", House)
    app.add_directive("modules", Modules)
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math, None))
    app.connect("source-read", for_the_site)
    app.connect("sphinx-click-process-description", as_literal_blocks)
    app.connect("sphinx-click-process-options", escape_bars)
    app.connect("doctree-resolved", as_manual)
