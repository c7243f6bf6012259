"""The group of all commands, and its help. The module of a command is loaded when the command is called."""

from __future__ import annotations

from importlib import import_module

import click

from vlang import __version__

__all__ = ["cli"]

_COMMANDS = {
    "run": "Run a program on a graph.",
    "check": "Check programs and say what is wrong.",
    "fmt": "Lay out programs in the one canonical way.",
    "explain": "Show what the compiler makes of a program, and why.",
    "warm": "Compile programs ahead, so that their first runs start fast.",
    "list": "List the programs that come with vlang.",
    "info": "Read a graph and describe it.",
    "convert": "Save a graph as a page file or as .npz, which read fast.",
    "lsp": "Serve editors by the language server protocol.",
    "doctor": "Show versions, processor, cache and devices.",
}


class _Commands(click.Group):
    """A group that lists its commands without loading the modules of the commands."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        # The module of `list` is named `programs`: a submodule `list` would hide the builtin in this package.
        module = "programs" if name == "list" else name
        command: click.Command = import_module(f"vlang.cli.commands.{module}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in _COMMANDS and not name.startswith("-"):
            from difflib import get_close_matches  # start-up

            close = get_close_matches(name, _COMMANDS, n=1)
            hint = f"did you mean `vlang {close[0]}`?" if close else f"the commands are {', '.join(_COMMANDS)}"
            raise click.UsageError(f"there is no command `{name}`; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="vlang", message="%(prog)s %(version)s")
def cli() -> None:
    """Vertex programs on graphs, compiled.

    \b
    vlang run pagerank karate             a program by name, a graph by name
    vlang run my.vp web.txt.gz -o r.csv   your own program and data
    vlang run sssp --help                 what a program computes and takes
    """
