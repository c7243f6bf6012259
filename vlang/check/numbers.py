"""The types of conversions and of functions on numbers (language.md section 8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from vlang.check.tables.scope import Sight, Value
from vlang.check.tables.typing import a, item, numeric, unified, with_item
from vlang.maths import MATHS, WHOLE
from vlang.syntax import tree as t
from vlang.syntax.codes import Code
from vlang.types import BOOL, CONVERSIONS, F16, F32, NUMBER, Scalar, Type, Vector, scalar_named

if TYPE_CHECKING:
    from vlang.check.expressions import Expressions

__all__ = ["NUMBERS", "Rule", "types_of", "wrong"]

Rule = Callable[["Expressions", t.Call, list[Value], Sight], Type | None]
"""The type of a call with known arguments; None after a message."""


def wrong(x: Expressions, node: t.Call, arg: int, need: str, type_: Type) -> None:
    """Report V106 for an argument of a wrong type.

    Args:
        x: the checker of expressions.
        node: the call.
        arg: the number of the argument.
        need: what the function takes, in words.
        type_: the type of the argument.
    """
    x.run.report(Code.WRONG_TYPE, f"`{node.name}` needs {need}", node.args[arg].span, f"this is {a(type_)}")


def types_of(args: list[Value]) -> list[Type]:
    """The types of the arguments, without arguments whose type is wrong and has been reported."""
    return [v.type for v in args if v.type is not None]


def _numbers(x: Expressions, node: t.Call, args: list[Value]) -> Type | None:
    """Return the common type of arguments that must all be numbers; None if a problem was reported."""
    types = types_of(args)
    result: Type | None = types[0]
    for index, type_ in enumerate(types):
        both = unified(result, type_) if result is not None and numeric(type_) else None
        if both is None:
            wrong(x, node, index, "a number" if len(types) == 1 else "numbers of one type", type_)
            return None
        result = both
    if result is None or len(types) == 1:
        return result
    good = [x.fit(arg, type_, _shaped(result, type_), f"`{node.name}` here")
            for arg, type_ in zip(node.args, types, strict=True)]
    return result if all(good) else None


def _shaped(result: Type, part: Type) -> Type:
    """The type to which an argument is converted. A scalar in a call with vectors stays a scalar, and is broadcast."""
    return result.item if isinstance(result, Vector) and not isinstance(part, Vector) else result


def _same(x: Expressions, node: t.Call, args: list[Value], at: Sight) -> Type | None:
    return _numbers(x, node, args)


def _real(x: Expressions, node: t.Call, args: list[Value], at: Sight) -> Type | None:
    type_ = _numbers(x, node, args)
    scalar = None if type_ is None else item(type_)
    if type_ is None or scalar is None:
        return None
    if scalar.weak:
        return with_item(type_, NUMBER)
    if scalar.floating:
        return with_item(type_, F32 if scalar == F16 else scalar)
    return with_item(type_, x.run.float)


def _whole(x: Expressions, node: t.Call, args: list[Value], at: Sight) -> Type | None:
    type_ = _numbers(x, node, args)
    scalar = None if type_ is None else item(type_)
    if type_ is None or scalar is None:
        return None
    return type_ if scalar.integral else with_item(type_, x.run.int)


def _power(x: Expressions, node: t.Call, args: list[Value], at: Sight) -> Type | None:
    left, right = types_of(args)
    return x.combined(node, "**", (node.args[0], left), (node.args[1], right), at)


def _undefined(x: Expressions, node: t.Call, args: list[Value], at: Sight) -> Type | None:
    (type_,) = types_of(args)
    if isinstance(type_, Scalar) and type_.numeric:
        return BOOL
    wrong(x, node, 0, "one number", type_)
    return None


def _converts(name: str) -> Rule:
    """The rule for a conversion such as `int(x)`: it takes a number or a bool, and gives a value of the type `name`."""

    def rule(x: Expressions, node: t.Call, args: list[Value], at: Sight) -> Type | None:
        (type_,) = types_of(args)
        if item(type_) == BOOL or numeric(type_):
            return with_item(type_, scalar_named(name, x.run.precision))
        wrong(x, node, 0, "a number or a bool", type_)
        return None

    return rule


NUMBERS: dict[str, tuple[Rule, int, int]] = {
    **{name: (_whole if name in WHOLE else _real, rule.operands, rule.operands) for name, rule in MATHS.items()},
    "abs": (_same, 1, 1), "sign": (_same, 1, 1), "clamp": (_same, 3, 3), "pow": (_power, 2, 2),
    "isnan": (_undefined, 1, 1),
    **{name: (_converts(name), 1, 1) for name in sorted(CONVERSIONS)},
}
"""Functions of numbers: the rule of each, and the least and largest number of arguments."""
