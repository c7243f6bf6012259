"""`vlang warm [PROGRAM...]`."""

from __future__ import annotations

import click

from vlang.cli.commands.run import warn
from vlang.cli.show import note, say
from vlang.errors import VlangError

__all__ = ["command"]


@click.command()
@click.argument("programs", nargs=-1, metavar="[PROGRAM]...")
@click.option("--precision", type=click.Choice(["32", "64"]), multiple=True, default=["32"], show_default=True,
              help="Bits of `int` and `float`; give it twice for both.")
def command(programs: tuple[str, ...], precision: tuple[str, ...]) -> int:
    """Compile programs (.vp files, or names from `vlang list`; by default all of the list) into the cache directory.

    The kernels that read graphs and build adjacency lists are compiled as well. Kernels in the cache are not compiled
    again. Exits 1 if a program has errors; the other programs are compiled nevertheless.
    """
    from vlang import stdlib  # start-up
    from vlang.api.precompile import Warmed, folder, warm_graphs, warm_program  # start-up

    place = folder()
    total = Warmed()
    wrong = 0

    def report(what: str, warmed: Warmed) -> None:
        nonlocal total
        total += warmed
        say(f"{what}: {warmed}")

    report("graphs", warm_graphs())
    names = programs or stdlib.names()
    for number, name in enumerate(names, 1):
        for bits in precision:
            try:
                program, warmed = warm_program(name, int(bits))
            except VlangError as error:
                wrong += 1
                note(str(error) if str(error).startswith("error") else f"error: {error}")
                break  # the other precision has the same error
            if programs and bits == precision[0]:
                warn(program)
            report(f"{number}/{len(names)} {name}{'' if bits == '32' else ', 64 bits'}", warmed)
    say(f"in all: {total}, in {place}")
    return 1 if wrong else 0
