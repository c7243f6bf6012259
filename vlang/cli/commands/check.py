"""`vlang check FILE...`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from vlang.cli.commands.run import warn
from vlang.cli.run_options import run_options
from vlang.cli.show import note, say
from vlang.errors import VlangError

if TYPE_CHECKING:
    from vlang.api.program import Program

__all__ = ["command"]


def _explain(ctx: click.Context, option: click.Parameter, code: str | None) -> None:
    """Print the page that explains a diagnostic code."""
    if code is None or ctx.resilient_parsing:
        return
    from vlang.syntax.codes import Code  # start-up

    row = next((row for row in Code if row == code.upper()), None)
    if row is None:
        raise click.BadParameter(f"there is no diagnostic `{code}`; the codes are {', '.join(Code)}", ctx, option)
    click.echo(row.page.read_text(encoding="utf-8").rstrip("\n"))
    ctx.exit()


def _saturating(program: Program) -> str:
    """Return a note on integers that may overflow, because integers of other languages wrap; "" if none may overflow.
    """
    from vlang.ir.forms.ranges import USUAL  # start-up
    from vlang.ir.integer_watch import wrapped_lines  # start-up

    ranges, found = program.leaving(program.precision, frozenset(), USUAL)
    if not found.fields:
        return ""
    lines = wrapped_lines(program.stages().program, ranges)
    if not lines:
        return ""
    where = f"line{'s' * (len(lines) > 1)} {', '.join(map(str, lines))}"
    return (f"an integer that is too large for its type is `inf` or `-inf` and does not wrap ({where}); write i64 or "
            "--precision 64 for larger ones, and wrap(...) around arithmetic that is to wrap")


@click.command()
@click.argument("programs", nargs=-1, required=True, metavar="PROGRAM...")
@click.option("--explain", metavar="CODE", is_eager=True, expose_value=False, callback=_explain,
              help="Print the page of a diagnostic, such as V106, and exit.")
@run_options("precision", research=())
def command(programs: tuple[str, ...], precision: int | None) -> int:
    """Check programs (.vp files, or names from `vlang list`): every mistake, where it is, and what to write instead.

    Exits 1 if a program has errors; warnings do not count.
    """
    from vlang.api.arguments.bind_options import shadowed_note  # start-up
    from vlang.api.program import load  # start-up

    wrong = 0
    for name in programs:
        try:
            program = load(name, precision=precision or 32)
        except VlangError as error:
            wrong += 1
            note(str(error) if str(error).startswith("error") else f"error: {error}")
            continue
        warn(program)
        if shadowed := shadowed_note(program):
            note(f"note: {name}: {shadowed}")
        for node, laws in program.stages().checked.laws.items():
            if not laws.proved:
                note(f"note: reduction {node.name} of {name}: {laws.said}")
        if wraps := _saturating(program):
            note(f"note: {name}: {wraps}")
        count = len(program.warnings)
        say(f"{name}: ok" + (f", {count} warning{'s' * (count > 1)}" if count else ""))
    return 1 if wrong else 0
