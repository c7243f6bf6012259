"""`vlang list`."""

from __future__ import annotations

import click

from vlang.stdlib import names, summary

__all__ = ["command"]


@click.command()
def command() -> None:
    """List the programs that come with vlang; `vlang run NAME --help` tells more about one."""
    width = max(map(len, names()))
    for name in names():
        click.echo(f"{name.ljust(width)}  {summary(name)}")
