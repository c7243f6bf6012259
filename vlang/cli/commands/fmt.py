"""`vlang fmt FILE...`."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from vlang.cli.show import note, say, visible
from vlang.errors import DiskError, ProgramError, VlangError

__all__ = ["command"]


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if a file would change.")
@click.option("--diff", is_flag=True, help="Write nothing; show what would change.")
def command(files: tuple[str, ...], check: bool, diff: bool) -> int:
    """Lay out programs in the one canonical way. Only spaces and blank lines change.

    `-` reads standard input and writes standard output. A file with errors of syntax is left as it is, and the errors
    are shown. Exits with 1 after errors. With --check, also exits with 1 if a file would change.
    """
    failed = changed = 0
    for name in files:
        try:
            before, after = _formatted(name)
            if check or diff:
                changed += before != after
                _report(name, before, after, check, diff)
            elif name == "-":
                click.echo(after, nl=False)
            elif before != after:
                _write(Path(name), after)
                say(f"{name}: formatted")
        except VlangError as error:
            failed += 1
            note(str(error) if str(error).startswith("error") else f"error: {error}")
    return 1 if failed or (check and changed) else 0


def _formatted(name: str) -> tuple[str, str]:
    """The text of a file before and after formatting. Raises DiskError and ProgramError."""
    from vlang.syntax.layout.format import format_text  # start-up
    from vlang.syntax.program_file import program_bytes  # start-up

    try:
        text = program_bytes(name).decode("utf-8")
    except DiskError:
        raise
    except UnicodeDecodeError as error:
        raise ProgramError(f"{name}: not a program: the file is not UTF-8 text (byte {error.start + 1})") from None
    except OSError as error:
        raise DiskError(f"{name} cannot be read: {(error.strerror or str(error)).lower()}") from None
    return text, format_text(text, "standard input" if name == "-" else name)


def _report(name: str, before: str, after: str, check: bool, diff: bool) -> None:
    if diff:
        shown = "".join(_difference(name, before, after))
        click.echo(visible(shown) if sys.stdout.isatty() else shown, nl=False)  # a pipe gets the unescaped patch
    elif before != after:
        say(f"{name}: would be formatted")


def _difference(name: str, before: str, after: str) -> Iterator[str]:
    for line in difflib.unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), name,
                                     f"{name} (formatted)"):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _write(path: Path, text: str) -> None:
    from vlang.runtime.storage.output import whole_file  # start-up: loads NumPy, which --check and --diff do not need

    with whole_file(path) as file:
        file.write(text.encode("utf-8"))
