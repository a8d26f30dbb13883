"""A command on a terminal: what is written, and what is left on the screen."""

import fcntl
import os
import pty
import struct
import termios
from collections.abc import Callable
from dataclasses import dataclass

from mpu_cli.__main__ import main
from tests import forked


@dataclass(frozen=True)
class Session:
    """What a command did on a terminal: all that it wrote, with control sequences, and the lines that are left."""

    status: int
    written: str
    screen: list[str]


def on_terminal(arguments: list, program: Callable[[], None] = main, **environment: str) -> Session:
    """Run `mpu`, perhaps with changes, with standard output and error on a terminal of 24 lines and 80 columns."""
    controller, terminal = pty.openpty()
    os.set_blocking(controller, True)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    nothing = os.open(os.devnull, os.O_RDONLY)
    environment = {**os.environ, "TERM": "xterm", **environment}
    streams = nothing, terminal, terminal
    process = forked.start(program, list(map(str, arguments)), streams, environment=environment)
    os.close(terminal)
    os.close(nothing)
    written = _all_written(controller)
    process.join()
    return Session(process.exitcode, written, _screen(written))


def _all_written(controller: int) -> str:
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
