"""A command on a terminal: what is written, and what is left on the screen."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from dataclasses import dataclass


@dataclass(frozen=True)
class Session:
    """What a command did on a terminal: all that it wrote, with control sequences, and the lines that are left."""

    status: int
    written: str
    screen: list[str]


def on_terminal(arguments: list, environment: dict[str, str] | None = None, code: str | None = None) -> Session:
    """Run `mpu` with standard output and standard error on a terminal of 24 lines and 80 columns."""
    controller, terminal = pty.openpty()
    os.set_blocking(controller, True)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    program = ["-m", "mpu_cli"] if code is None else ["-c", code]
    process = subprocess.Popen(
        [sys.executable, *program, *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=terminal,
        env={**os.environ, "TERM": "xterm", **(environment or {})},
    )
    os.close(terminal)
    written = all_written(controller)
    return Session(process.wait(), written, _screen(written))


def all_written(controller: int) -> str:
    """Read what is written on a terminal until the last process there has ended, and close the controller's side."""
    written = b""
    try:
        while part := os.read(controller, 4096):
            written += part
    except OSError:  # the end, on Linux
        pass
    os.close(controller)
    return written.decode()


def _screen(written: str) -> list[str]:
    """Play what was written: line ends, returns to the beginning of a line, and the deletion of a line."""
    lines = [""]
    column = 0
    for piece in written.replace("\x1b[2K", "\x00"):
        if piece == "\x00":
            lines[-1] = ""
        elif piece == "\r":
            column = 0
        elif piece == "\n":
            lines.append("")
        else:
            lines[-1] = lines[-1][:column].ljust(column) + piece + lines[-1][column + 1 :]
            column += 1
    lines = [line.rstrip() for line in lines]
    while lines and not lines[-1]:
        lines.pop()
    return lines
