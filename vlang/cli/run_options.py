"""The options of a run on the command line, made from the table in vlang.options: declaration, reading, completion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeVar

import click

from vlang.errors import BindError
from vlang.options import EVERYDAY, OPTIONS, RENAMED, RESEARCH, Option

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = ["RunCommand", "run_options", "taken_options"]

F = TypeVar("F", bound=Callable[..., Any])


class RunCommand(click.Command):
    """A command with options of a run. If a research option is written as `--name`, the error explains `--research`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = error.option_name.lstrip("-").replace("-", "_")
            today = RENAMED.get(name, name)
            if today in RESEARCH:
                hint = f"is a research option: write --research {today}={RESEARCH[today].values}"
            elif today != name:
                hint = f"is called {EVERYDAY[today].flag} now"
            else:
                raise
            raise click.UsageError(f"{error.option_name} {hint}", ctx) from None


def run_options(*names: str, research: Sequence[str] = tuple(RESEARCH)) -> Callable[[F], F]:
    """Return a decorator that adds the everyday options in `names`, and `--research` for the options in `research`.

    Each option becomes a keyword argument of the command. An option that is not given is None, and `--research` is a
    dict.
    """

    def add(command: F) -> F:
        if research:
            command = _research(research)(command)
        for name in reversed(names):
            command = _declared(EVERYDAY[name])(command)
        return command

    return add


def taken_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a run by name, including research options, from the keyword arguments of a command."""
    everyday = {name: value for name, value in given.items() if name in EVERYDAY and value is not None}
    return everyday | (given.get("research") or {})


def _declared(option: Option) -> Callable[[F], F]:
    if option.kind == "flag":
        return click.option(option.flag, option.name, is_flag=True, default=None, help=option.help)
    return click.option(option.flag, option.name, metavar=option.values, help=option.help, callback=_read,
                        shell_complete=_complete)


def _research(names: Sequence[str]) -> Callable[[F], F]:
    def read(_ctx: click.Context, _param: click.Parameter, words: Iterable[str]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for word in words:
            name, equals, text = word.partition("=")
            if not equals or name not in names:
                raise click.BadParameter(_no_research(name, names, bool(equals)))
            if name in values:
                raise click.BadParameter(f"`{name}` is given twice")
            values[name] = _value(RESEARCH[name], text)
        return values

    def complete(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem  # start-up

        name, equals, text = begun.partition("=")
        if not equals:
            return [CompletionItem(f"{one}=", help=RESEARCH[one].help) for one in names if one.startswith(name)]
        if name not in names:
            return []
        return [CompletionItem(f"{name}={one}") for one in _choices(RESEARCH[name]) if one.startswith(text)]

    listed = ", ".join(names)
    return click.option("--research", "research", multiple=True, metavar="NAME=VALUE", callback=read,
                        shell_complete=complete,
                        help=f"An option to measure and compare with; may be given several times. There are {listed}.")


def _no_research(name: str, names: Sequence[str], equals: bool) -> str:
    if name in RENAMED:
        return f"`{name}` is called `{RENAMED[name]}` now"
    if name in EVERYDAY:
        return f"`{name}` is no research option; write {EVERYDAY[name].flag}"
    if not equals and name in names:
        return f"write {name}={RESEARCH[name].values}"
    close = get_close_matches(name, names, 1)
    hint = f"did you mean `{close[0]}`?" if close else f"write NAME=VALUE with a name out of {', '.join(names)}"
    return f"there is no research option `{name}`; {hint}"


def _read(_ctx: click.Context, param: click.Parameter, text: str | None) -> Any:
    return None if text is None else _value(OPTIONS[str(param.name)], text)


def _value(option: Option, text: str) -> Any:
    """Convert the text of an option to its value. Raises click.BadParameter."""
    from vlang.api.arguments.bind_options import read_option  # start-up

    value: Any = text
    if option.kind in ("whole", "precision") and text.isascii() and text.isdigit():
        value = int(text)
    elif option.kind == "flag" and text in ("true", "false"):
        value = text == "true"
    elif option.kind == "flag":
        raise click.BadParameter(f"{option.name} is true or false, not `{text}`")
    try:
        return read_option(option.name, value)
    except BindError as error:
        raise click.BadParameter(str(error)) from None


def _complete(_ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem  # start-up

    return [CompletionItem(one) for one in _choices(OPTIONS[str(param.name)]) if one.startswith(begun)]


def _choices(option: Option) -> tuple[str, ...]:
    from vlang.api.arguments.option_values import option_choices  # start-up

    return option_choices(option)
