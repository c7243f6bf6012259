"""Checks the values of a program's constants (`k: const = 8`), and describes constants like parameters."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from vlang.api.described import Parameter, parameter_of
from vlang.check.tables.checked import Checked
from vlang.errors import BindError
from vlang.ir.forms import forms as f
from vlang.syntax import tree as t
from vlang.syntax.constants import MOST, constants_of, in_range
from vlang.syntax.rewrite import inside

if TYPE_CHECKING:
    from vlang.api.program import Program

__all__ = ["checked_values", "defaults_of", "described_parameters", "missing", "sized_types"]


def defaults_of(checked: Checked) -> dict[str, int | None]:
    """The default of each constant of a program, by name; None if a value must be given."""
    return {} if checked.written is None else constants_of(checked.written)


def checked_values(program: Program, given: Mapping[str, Any]) -> dict[str, int]:
    """The values of constants that a caller gives. Raises BindError for an unknown name or a wrong value."""
    known, values = defaults_of(program.stages().checked), {}
    for name, value in given.items():
        if name not in known:
            have = ", ".join(f"`{one}`" for one in known) or "none"
            raise BindError(f"{program.name} has no constant `{name}`; its constants: {have}")
        try:
            number = operator.index(value)
        except TypeError:
            number = 0
        if isinstance(value, bool) or not in_range(number):
            raise BindError(f"`{name}` is a constant, an integer from 1 to {MOST}, not {value!r}")
        values[name] = number
    return values


def missing(program: Program) -> str:
    """A sentence about a constant without a value; "" if all constants have a value."""
    for name, default in defaults_of(program.stages().checked).items():
        if default is None and name not in program.constants:
            return f"{program.name} needs `{name}`, an integer from 1 to {MOST}: {name}=..."
    return ""


def described_parameters(program: Program, checked: Checked, declared: Iterator[f.ParamDecl],
                         types: Mapping[str, str]) -> Iterator[Parameter]:
    """Return the descriptions of the parameters and constants of a program, in the order of the header.

    Args:
        program: the program.
        checked: its checked tree.
        declared: the declarations of its parameters in the IR, without constants.
        types: the type of each parameter, as text.
    """
    constants = defaults_of(checked)
    for node in (checked.written or checked.file).params:
        if node.name in constants:
            value = program.constants.get(node.name, constants[node.name])
            yield Parameter(node.name, "const", value, value is None)
        else:
            decl = next(declared)
            yield parameter_of(node, decl, program.source, types[decl.name])


def sized_types(checked: Checked, source: str, types: Mapping[str, str]) -> dict[str, str]:
    """Return the types of the fields and parameters with sizes that name constants. The types are texts with these
    names.

    Args:
        checked: the checked tree.
        source: the text of the program.
        types: the types as texts, with the values of the constants in place of their names.
    """
    found: dict[str, str] = {}
    written = checked.written
    for node in () if written is None else (*written.params, *written.items):
        type_ = node.type if isinstance(node, (t.Param, t.VertexField)) else None
        if type_ is None or type_.size is None or not any(isinstance(part, t.Name) for part in inside(type_)):
            continue
        size = source[type_.size.span.start : (type_.columns or type_.size).span.end]
        names = node.names if isinstance(node, t.VertexField) else (node.name,) if isinstance(node, t.Param) else ()
        for name in names:
            found[name] = f"{types[name].partition('[')[0]}[{size}]"
    return found
