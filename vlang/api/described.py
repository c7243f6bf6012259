"""Describes a program to Python users: its parameters and fields, the signature of a call, and its docstring."""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from vlang.api.arguments.bind_options import shadowed_note
from vlang.ir.forms import forms as f
from vlang.records import dataclass
from vlang.syntax.tree import Literal, Param

if TYPE_CHECKING:
    from vlang.api.program import Program

__all__ = ["FieldInfo", "Parameter", "documented", "parameter_of", "signature_of"]


@dataclass(frozen=True)
class Parameter:
    """A parameter of a program.

    Attributes:
        name: its name.
        type: its type, as text.
        default: the default value if the default is a literal, else the text of the default expression; None if the
            parameter is required.
        required: whether a call must pass it.
    """

    name: str
    type: str
    default: bool | int | float | str | None
    required: bool


@dataclass(frozen=True)
class FieldInfo:
    """A vertex or edge field.

    Attributes:
        required: whether the field has no initializer (vertex field) or no default (edge field).
    """

    name: str
    type: str
    required: bool


def signature_of(params: Sequence[Parameter], fields: Sequence[FieldInfo]) -> inspect.Signature:
    """Return the signature of a call. The signature leaves out names that Python does not allow, such as `lambda`."""
    own = inspect.Parameter
    keywords = {p.name: own.empty if p.required else p.default for p in params}
    keywords |= {field.name: own.empty for field in fields if field.required}
    found = [own(_fresh("graph", keywords), own.POSITIONAL_ONLY)]
    found += [own(name, own.KEYWORD_ONLY, default=default) for name, default in keywords.items()
              if not keyword.iskeyword(name)]
    found.append(own(_fresh("options", keywords), own.VAR_KEYWORD))
    return inspect.Signature(found)


def documented(program: Program) -> str:
    """The docstring of a program: its signature, the comment above its header, and its parameters, inputs and
    outputs."""
    signature = inspect.signature(program)
    graph = next(iter(signature.parameters))
    values = {one.name: "..." if one.required else repr(one.default) for one in program.params}
    values |= {one.name: "..." for one in program.fields if one.required}
    words = [f"`{name}` is a word of Python: write program({graph}, **{{{name!r}: {value}}})"
             for name, value in values.items() if keyword.iskeyword(name)]
    parts = (f"{program.name}{signature}", "\n".join(words), program.doc, _listed(program), shadowed_note(program))
    return "\n\n".join(part for part in parts if part)


def _listed(program: Program) -> str:
    """Tables of the parameters, the inputs and the outputs of a program."""
    tables = (
        ("Parameters", [(f"{p.name}: {p.type}", "required" if p.required else f"default {p.default}")
                        for p in program.params]),
        ("Vertex fields to pass", [(f"{f.name}: {f.type}", "required") for f in program.fields if f.required]),
        ("Edge columns", [(f"{e.name}: {e.type}", "required" if e.required else "optional") for e in program.edges]),
        ("Results", [*((f"{f.name}: {f.type}", "one per vertex") for f in program.fields),
                     *((name, "one for the graph") for name in program.globals)]),
    )
    texts = []
    for title, rows in tables:
        width = max((len(left) for left, _ in rows), default=0)
        if rows:
            texts.append("\n".join([f"{title}:", *(f"    {left.ljust(width)}  {right}" for left, right in rows)]))
    return "\n".join(texts)


def _fresh(name: str, taken: Collection[str]) -> str:
    """Return the name, followed by underscores until it differs from all taken names."""
    while name in taken:
        name += "_"
    return name


def parameter_of(node: Param, decl: f.ParamDecl, source: str, type_: str) -> Parameter:
    """The description of a parameter.

    Args:
        node: its node in the tree.
        decl: its declaration.
        source: the text of the program.
        type_: its type, as text.
    """
    default: bool | int | float | str | None = None
    if node.default is not None:
        value = decl.default
        text = source[node.default.span.start : node.default.span.end]
        default = value.value if isinstance(value, f.Const) and value.value is not None else text
        default = node.default.value if isinstance(node.default, Literal) and text.startswith('"') else default
    return Parameter(decl.name, type_, default, node.default is None)
