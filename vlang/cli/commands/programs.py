"""`vlang list`."""

from __future__ import annotations

import click

from vlang.stdlib import GROUPS, groups, names, summary

__all__ = ["command"]


@click.command()
def command() -> None:
    """List the programs that come with vlang, in groups; `vlang run NAME --help` describes a program."""
    width = max(map(len, names()))
    for number, (group, members) in enumerate(groups().items()):
        meaning = GROUPS[group][0] if group in GROUPS else "programs of no group"
        click.echo(f"{chr(10) if number else ''}{group}: {meaning}")
        for name in members:
            click.echo(f"  {name.ljust(width)}  {summary(name)}")
