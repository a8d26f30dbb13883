"""``mpu predict``."""

import click


@click.command("predict")
def predict() -> None:
    """Not written yet."""
