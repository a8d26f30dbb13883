"""What is in a folder."""

from pathlib import Path


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def contents(folder: Path) -> dict[str, bytes | None]:
    """Return all that is there, by relative path; None is a directory."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def model_files(folder: Path) -> dict[str, bytes | None]:
    """Return what is in a model directory but for the record of when and from what it was trained."""
    return {name: content for name, content in contents(folder).items() if not name.startswith("training-")}
