"""Services for editors about names: definition, references, rename, outline, signatures and kinds of names.

Like the services in `service`, these services are functions of a program text and a character offset in the text.
"""

from __future__ import annotations

import re

from vlang.check import Symbol
from vlang.editor.helps import FUNCTION_HELP, REDUCTION_HELP
from vlang.editor.service import Edit, examined, problems_in, uses
from vlang.errors import BindError
from vlang.records import dataclass
from vlang.syntax.keywords import PREDEFINED, RESERVED, TYPE_NAMES
from vlang.syntax.tree import Span

__all__ = ["Named", "Signature", "named", "outline", "rename", "signature", "tokens"]

_INNER = frozenset({"argument", "neighbour", "member"})
_CALL = re.compile(r"([A-Za-z_]\w*)[ \t]*\Z")
_LABEL = re.compile(r"`([A-Za-z_]\w*\([^`]*\))`")
_HEAD = re.compile(r"(?:fn|reduction)[ \t]+([A-Za-z_]\w*[ \t]*\([^)]*\)(?:[ \t]*:[ \t]*[\w\[\]]+)?)")


@dataclass(frozen=True)
class Named:
    """A name of a program.

    Attributes:
        symbol: the symbol that it stands for.
        declaration: the place where the name is declared; None for predefined names.
        places: every place where the name occurs, in order, including its declaration.
    """

    symbol: Symbol
    declaration: Span | None
    places: tuple[Span, ...]


@dataclass(frozen=True)
class Signature:
    """The signature of a call.

    Attributes:
        label: its text, such as "clamp(x, low, high)".
        parameters: the texts of its parameters, which occur in the label.
        active: the number of the current parameter, from 0.
        help: what the function does, as Markdown; "" for a declared function.
    """

    label: str
    parameters: tuple[str, ...]
    active: int
    help: str


def _all_names(text: str) -> list[Named]:
    """Every name of a text."""
    run, _ = examined(text)
    if run is None:
        return []
    found: dict[Symbol, dict[int, Span]] = {}
    for use in uses(run):
        name = use.symbol.name
        if "," not in name and text[use.span.start : use.span.end] == name:  # `let (a, b)` also declares the pair
            found.setdefault(use.symbol, {})[use.span.start] = use.span
    return [Named(symbol, run.places.get(symbol), tuple(spans[at] for at in sorted(spans)))
            for symbol, spans in found.items()]


def named(text: str, offset: int) -> Named | None:
    """The name at an offset; None if there is none."""
    for one in _all_names(text):
        if any(span.start <= offset <= span.end for span in one.places):
            return one
    return None


def rename(text: str, offset: int, name: str) -> tuple[Edit, ...]:
    """Return the edits that rename the name at an offset.

    Raises BindError if the name cannot be renamed: it is predefined, the text has errors, or the new name is no name,
    is taken, or would change what another name means.
    """
    one = named(text, offset)
    if one is None or one.declaration is None:
        raise BindError("there is no name here that the program declares")
    if not re.fullmatch(r"[A-Za-z_]\w*", name) or name in {*RESERVED, *PREDEFINED, *TYPE_NAMES}:
        raise BindError(f"`{name}` is a word of the language or no name")
    if any(problem.severity == "error" for problem in problems_in(text)):
        raise BindError("the program has errors; a name may stand in a line that cannot be read")
    edits = tuple(Edit(span.start, span.end, name) for span in one.places)
    after, moved, places = text, 0, []
    for edit in edits:
        places.append(edit.start + moved)
        after = after[: edit.start + moved] + name + after[edit.end + moved :]
        moved += len(name) - (edit.end - edit.start)
    again = named(after, places[0])
    same = again is not None and [span.start for span in again.places] == places
    if not same or any(problem.severity == "error" for problem in problems_in(after)):
        raise BindError(f"`{name}` means something else here already")
    return edits


def outline(text: str) -> list[Named]:
    """Return the names that a program declares, in order, without names that are visible in only one expression."""
    found = [one for one in _all_names(text) if one.declaration is not None and one.symbol.kind not in _INNER]
    return sorted(found, key=lambda one: one.declaration.start if one.declaration is not None else 0)


def tokens(text: str) -> list[tuple[Span, Symbol, bool]]:
    """Return the place and the symbol of every name in the order of the text, and whether the place is its declaration.
    """
    found = [(span, one.symbol, span == one.declaration) for one in _all_names(text) for span in one.places]
    return sorted(found, key=lambda token: token[0].start)


def signature(text: str, offset: int) -> Signature | None:
    """The signature of the innermost call around an offset; None outside of calls."""
    at, depth, active = offset, 0, 0
    begin = text.rfind("\n\n", 0, offset) + 1
    while at > begin:
        at -= 1
        character = text[at]
        if character in ")]":
            depth += 1
        elif character in "([":
            if depth == 0:
                break
            depth -= 1
        elif character == "," and depth == 0:
            active += 1
    else:
        return None
    call = _CALL.search(text[:at]) if text[at] == "(" else None
    return None if call is None else _signature_of(text, call[1], active)


def _signature_of(text: str, name: str, active: int) -> Signature | None:
    declared = next((head for head in _HEAD.finditer(text) if re.match(rf"{name}\b", head[1])), None)
    help_ = "" if declared else FUNCTION_HELP.get(name) or REDUCTION_HELP.get(name, "")
    label = declared[1] if declared else next((found for found in _LABEL.findall(help_)), "")
    if not label and name in REDUCTION_HELP:
        label = f"{name}(e for u -> self if c)"
    if not label:
        return None
    inside = label[label.index("(") + 1 : label.rindex(")")]
    parameters = tuple(part.strip() for part in inside.split(",") if part.strip())
    return Signature(label, parameters, min(active, max(0, len(parameters) - 1)), help_)
