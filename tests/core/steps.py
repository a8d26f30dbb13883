"""What a training announces, counts and keeps."""

from contextlib import contextmanager


class Steps:
    """An observer that notes the steps, and counts their ticks."""

    def __init__(self) -> None:
        self.announced: dict[str, int | None] = {}
        self.ticks: dict[str, int] = {}

    @contextmanager
    def __call__(self, step, ticks=None):
        self.announced[step], self.ticks[step] = ticks, 0

        def tick():
            self.ticks[step] += 1

        yield tick
