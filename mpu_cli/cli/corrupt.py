"""``mpu corrupt``."""

import click


@click.command("corrupt")
def corrupt() -> None:
    """Not written yet."""
