"""Constants: parameters `k: const = 8` whose values are known when a program is compiled (language.md section 5).

A program with constants is first checked without values for its constants. The program is then compiled for one value
of each constant. The chosen value replaces the name of the constant everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from vlang.syntax import tree as t

__all__ = ["MOST", "UNSET", "constants_of", "in_range", "size_of", "size_text", "with_values"]

MOST = 1024
"""The largest value of a constant; the least one is 1."""

UNSET = 16
"""The value for which a program is described as long as a constant has neither a value nor a default."""

_Node = TypeVar("_Node", bound=t.Node)
_COMPUTED: Mapping[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "//": lambda a, b: a // b if b else 0,
}


def constants_of(file: t.File) -> dict[str, int | None]:
    """The default of each constant of a program, by name; None for a constant without a correct default."""
    return {param.name: _default(param) for param in file.params
            if param.type is not None and param.type.kind == "const"}


def _default(param: t.Param) -> int | None:
    value = param.default.value if isinstance(param.default, t.Literal) else None
    return value if in_range(value) and isinstance(value, int) else None


def in_range(value: object) -> bool:
    """Return whether a constant may have a value: an integer from 1 to MOST."""
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST


def size_of(size: t.Expr | None, constants: Mapping[str, int | None]) -> int | None:
    """Return the number of components in a type such as `float[2 * k]`, for given values of the constants.

    Returns None if the expression has anything other than integers, constants and the operators + - * //. A constant
    without a value counts as UNSET.
    """
    if isinstance(size, t.Literal):
        return size.value if isinstance(size.value, int) and not isinstance(size.value, bool) else None
    if isinstance(size, t.Name) and size.name in constants:
        return constants[size.name] or UNSET
    if isinstance(size, t.Binary) and size.op in _COMPUTED:
        left, right = size_of(size.left, constants), size_of(size.right, constants)
        return None if left is None or right is None else _COMPUTED[size.op](left, right)
    return None


def size_text(size: t.Expr) -> str:
    """The text of a size. The layout of the expression does not influence the text."""
    if isinstance(size, t.Binary):
        sides = [f"({size_text(side)})" if isinstance(side, t.Binary) else size_text(side)
                 for side in (size.left, size.right)]
        return f"{sides[0]} {size.op} {sides[1]}"
    return size.name if isinstance(size, t.Name) else str(size.value) if isinstance(size, t.Literal) else "?"


def with_values(file: t.File, values: Mapping[str, int]) -> t.File:
    """The program with a literal in place of each constant, and without the parameters that are constants.

    Each literal has the place of the name that it replaces.
    """
    def changed(value: Any) -> Any:
        if isinstance(value, t.Name) and value.name in values:
            return t.Literal(value.span, values[value.name], str(values[value.name]))
        if isinstance(value, t.Node):
            return rebuilt(value)
        return tuple(map(changed, value)) if isinstance(value, tuple) else value

    def rebuilt(node: _Node) -> _Node:
        new = {part.name: changed(getattr(node, part.name)) for part in fields(node) if part.name != "span"}
        return replace(node, **new)

    return rebuilt(replace(file, params=tuple(param for param in file.params if param.name not in values)))
