"""``mpu train``."""

import click


@click.command("train")
def train() -> None:
    """Not written yet."""
