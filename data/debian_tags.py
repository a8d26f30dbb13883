"""Make JSON lines of Debian's packages and their debtags, a collection in which many tags are missing.

Usage: python data/debian_tags.py [PACKAGES] > packages.jsonl

PACKAGES is a Packages file, plain or compressed (.gz, .xz); without one, what `apt-cache dumpavail` prints. Each line
is an object: `id` (the package's name), `title` (its description in one line), `section`, `depends` (the names of the
packages that it needs) and `tags`, a list, such as `role::program`; empty where nobody has tagged the package.
"""

import argparse
import gzip
import json
import lzma
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from mpu_cli.errors import MpuError

OPENERS = {".gz": gzip.open, ".xz": lzma.open}
FIELD = re.compile(r"^(\S+?):[ \t]*(.*(?:\n[ \t].*)*)", re.MULTILINE)


class PackagesError(MpuError):
    """There are no packages that could be read."""


def packages_text(path: Path | None) -> str:
    """Read a Packages file, or what apt knows."""
    try:
        if path is None:
            return subprocess.run(
                ["apt-cache", "dumpavail"], check=True, stdout=subprocess.PIPE, encoding="utf-8"
            ).stdout
        with OPENERS.get(path.suffix, open)(path, "rt", encoding="utf-8") as file:
            return file.read()
    except (OSError, EOFError, ValueError, lzma.LZMAError, subprocess.CalledProcessError) as error:
        raise PackagesError(
            f"{path or 'apt-cache dumpavail'}: cannot be read ({error}); name a Packages file"
        ) from error


def records(text: str) -> Iterator[dict[str, str | list[str]]]:
    """Give a record for each package; of several versions of it, the first."""
    seen = set()
    for paragraph in re.split(r"\n\s*\n", text):
        fields = dict(FIELD.findall(paragraph))
        if "Package" not in fields or fields["Package"] in seen:
            continue
        seen.add(fields["Package"])
        yield {
            "id": fields["Package"],
            "title": fields.get("Description", "").partition("\n")[0],
            "section": fields.get("Section", ""),
            "depends": " ".join(names(fields.get("Depends", ""))),
            "tags": tags(fields.get("Tag", "")),
        }


def names(depends: str) -> list[str]:
    """Give the names of the packages in a field `Depends`, each once, without versions and architectures."""
    return list(dict.fromkeys(re.findall(r"[^\s,|]+", re.sub(r"\([^)]*\)|\[[^]]*\]|:\w+", "", depends))))


def tags(field: str) -> list[str]:
    """Give the tags of a field `Tag`, in which `works-with::{image,text}` is two."""
    return [
        facet + name
        for facet, several, one in re.findall(r"([^\s,{}]+::)(?:\{([^}]*)\}|([^\s,{}]+))", field)
        for name in re.findall(r"[^\s,]+", several or one)
    ]


def main() -> None:
    """Write the lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", type=Path, nargs="?")
    try:
        lines = [
            json.dumps(record, ensure_ascii=False) for record in records(packages_text(parser.parse_args().packages))
        ]
        if not lines:
            raise PackagesError(
                "no package: the lists of apt are empty (`apt-get update`), or this is no Packages file"
            )
    except PackagesError as error:
        sys.exit(f"error: {error}")
    print(*lines, sep="\n")


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends it quietly, as it ends any filter
    main()
