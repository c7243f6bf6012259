"""Constants of a program in the reference interpreter: named integer literals, and the vector sizes that they
determine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from tests.reference.values import folded_literals, literal, literal_number
from vlang.errors import BindError
from vlang.syntax import tree as t

__all__ = ["sized"]


def sized(file: t.File, params: Mapping[str, Any]) -> tuple[t.File, dict[str, int]]:
    """Return the program with literals as the sizes of all vector types, and the values of its constants.

    Raises BindError for a constant that has neither a value nor a default.
    """
    values: dict[str, int] = {}
    for param in file.params:
        if param.type is not None and param.type.kind == "const":
            if param.name not in params and not isinstance(param.default, t.Literal):
                raise BindError(f"constant {param.name} has no value")
            given = params[param.name] if param.name in params else getattr(param.default, "value", 0)
            values[param.name] = int(given)
    rest = tuple(param for param in file.params if param.name not in values)
    changed: t.File = _with_sizes(replace(file, params=rest), values) if values else file
    return changed, values


def _with_sizes(node: Any, values: Mapping[str, int]) -> Any:
    if isinstance(node, tuple):
        return tuple(_with_sizes(part, values) for part in node)
    if not isinstance(node, t.Node):
        return node
    new = {part.name: _with_sizes(getattr(node, part.name), values) for part in fields(node)}
    for part in ("size", "columns") if isinstance(node, t.TypeExpr) else ():
        written = getattr(node, part)
        new[part] = None if written is None else t.Literal(written.span, _size(written, values), "")
    return replace(node, **new)


def _size(size: t.Expr, values: Mapping[str, int]) -> int:
    if isinstance(size, t.Binary):
        sides = (literal(_size(side, values)) for side in (size.left, size.right))
        folded = folded_literals(size.op, *sides)
        found = None if folded is None else literal_number(folded)
    else:
        found = values[size.name] if isinstance(size, t.Name) else getattr(size, "value", None)
    if not isinstance(found, int):
        raise TypeError(f"no size: {size}")
    return found
