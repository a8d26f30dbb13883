"""Models that were replaced, kept as logrotate keeps logs: MODEL.1, the newest, to MODEL.N.

Each is a complete model directory. It shares files with the others by hard links, and no file is ever changed. A model
is replaced under its lock in this order, so that a kill anywhere loses nothing that was accepted:

1. The new model is written to ``MODEL/.training``; then MODEL is copied there, by links.
2. MODEL.n is the first name that is free. MODEL.(n-1) becomes MODEL.n, and so on, until MODEL.1 is free.
3. The copy becomes MODEL.1.
4. The new manifest replaces that of MODEL: only now is the new model accepted.
5. What is beyond MODEL.N is removed.

A kill before 3 leaves MODEL and perhaps a free name, which the next run fills. A kill before 4 leaves MODEL.1 as the
same model as MODEL, and the next run does not copy it again. A kill before 5 leaves one model too many until then.
"""

import os
import shutil
from contextlib import suppress
from itertools import count, pairwise, takewhile
from pathlib import Path

from mpu_cli.bundle.manifest import MANIFEST, manifest_of
from mpu_cli.runtime import signals
from mpu_cli.runtime.files import directory_to_disk


def kept(model: Path, number: int) -> Path:
    """Return MODEL.number; links to a model lead to the same."""
    real = model.resolve()
    return real.with_name(f"{real.name}.{number}")


def all_kept(model: Path, most: int) -> list[Path]:
    """Return those of MODEL.1 to MODEL.most that are there, and what follows on these without a gap."""
    paths = (kept(model, number) for number in range(1, most + 1))
    return [*filter(os.path.lexists, paths), *_beyond(model, most)]


def keep_present(model: Path, workshop: Path) -> None:
    """Keep a model as MODEL.1, and MODEL.1 as MODEL.2, up to the first name that is free or is the same model.

    `workshop`: an empty directory on the same file system, for what is to be renamed or removed.
    """
    manifest, paths = manifest_of(model), [kept(model, 1)]
    while os.path.lexists(paths[-1]) and manifest_of(paths[-1]) != manifest:
        paths.append(kept(model, len(paths) + 1))
    is_there = os.path.lexists(paths[-1])
    if is_there and len(paths) == 1:
        return
    copy = workshop / paths[0].name
    copy.mkdir()
    for file in model.iterdir():
        if file.name != workshop.name:
            _link(file, copy / file.name)
    shutil.copystat(model, copy)
    directory_to_disk(copy)
    with signals.unbroken():
        if is_there:
            paths[-1].rename(workshop / paths[-1].name)
        for older, newer in pairwise(reversed(paths)):
            newer.rename(older)
        copy.rename(paths[0])
    directory_to_disk(paths[0].parent)


def remove_beyond(model: Path, most: int, workshop: Path) -> None:
    """Move what is beyond MODEL.most to the workshop, the last first, so that a kill leaves no gap."""
    for path in reversed(_beyond(model, most)):
        path.rename(workshop / path.name)


def _beyond(model: Path, most: int) -> list[Path]:
    return list(takewhile(os.path.lexists, (kept(model, number) for number in count(most + 1))))


def _link(file: Path, target: Path) -> None:
    """Link a file. Copy it where there are no links, and the manifest always, since `cp` changes it in place."""
    if file.name != MANIFEST:
        with suppress(OSError):
            target.hardlink_to(file)
            return
    with file.open("rb") as source, target.open("xb") as copy:
        shutil.copyfileobj(source, copy)
        copy.flush()
        os.fsync(copy.fileno())
    shutil.copystat(file, target)
