"""``mpu evaluate``."""

import click


@click.command("evaluate")
def evaluate() -> None:
    """Not written yet."""
