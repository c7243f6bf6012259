"""Lines of generated code. Each line names one component of a value, or names a long vector of floats as a whole."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from vlang.emit.shared.values.dialect import Dialect, scalars_of
from vlang.emit.shared.values.wide import LEAST, Part, loaded, parts, spans, whole
from vlang.types import BOOL, VERTEX, Scalar, Type

__all__ = ["ComponentWriter"]

_WIDE = {"+": "add", "*": "mul", "min": "min", "max": "max"}


class ComponentWriter:
    """Writes lines that operate on the components of values. `lines` is the code so far, without indentation."""

    def __init__(self, dialect: Dialect) -> None:
        self.d = dialect
        self.lines: list[str] = []
        self._numbers = itertools.count()

    def name(self, text: str) -> str:
        """Assign the value of `text` to a new name and return the name; a name or constant is returned unchanged."""
        if text.isidentifier() or isinstance(text, Part):
            return text
        new = f"t{next(self._numbers)}"
        self.lines.append(self.d.named(new, text))
        return new

    def number(self) -> int:
        """Return a new number, from which a name is made that no other line uses."""
        return next(self._numbers)

    def names(self, types: Sequence[Scalar], texts: tuple[str, ...]) -> tuple[str, ...]:
        """Assign the components of a value to names and return them. A long vector of an array has one line."""
        if self.d.wides and spans(types) and loaded(texts) is not None:
            return parts(self.name(whole(texts)), len(texts))
        return tuple(self.name(text) for text in texts)

    def wide(self, op: str, size: int, *operands: str | tuple[str, ...]) -> tuple[str, ...]:
        """The components of the result of `wide_OP` (runtime/compile/wide.py).

        Args:
            op: The operation.
            size: The number of components of the result.
            operands: The components of each vector, or the name of a scalar.
        """
        return parts(self.fold(op, size, *operands), size)

    def fold(self, op: str, size: int, *operands: str | tuple[str, ...]) -> str:
        """Return the name of the result of `wide_OP` for vectors of `size` components. A single name in `operands` is a
        scalar.
        """
        names = [one if isinstance(one, str) else self.name(whole(one)) for one in operands]
        return self.name(f"wide_{op}({', '.join(names)}, {size})")

    def converted(self, types: Sequence[Scalar], names: tuple[str, ...]) -> tuple[str, ...]:
        """Convert components to `types` by plain conversions, and return their new names. Bools are not converted."""
        if self.d.wides and spans(types[: len(names)]) and len(names) >= LEAST:
            return self.wide(self.d.typename(types[0]), len(names), names)
        return tuple(name if t == BOOL else self.name(self.d.convert(t, name)) for t, name in zip(types, names))

    def combined(self, sign: str, types: Sequence[Scalar], a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...]:
        """The names of `a sign b` for each pair of components.

        Args:
            sign: One of + * | & ^, or "min" or "max".
            types: The types of the components.
            a: The components of the left operand.
            b: The components of the right operand.
        """
        if sign in _WIDE and self.d.wides and spans(types):
            return self.wide(_WIDE[sign], len(types), a, b)
        if sign in ("min", "max"):
            return tuple(self.name(self.least(sign, t, x, y)) for t, x, y in zip(types, a, b))
        return tuple(self.name(self.d.arithmetic(sign, t, x, y)) for t, x, y in zip(types, a, b))

    def chosen(self, test: str, types: Sequence[Scalar], yes: tuple[str, ...], no: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of the components of the chosen value.

        Args:
            test: The name of a bool.
            types: The types of the components.
            yes: The components of the value if the bool is true.
            no: The components of the value if the bool is false.
        """
        if self.d.wides and spans(types):
            return self.wide("select", len(types), test, yes, no)
        return tuple(self.name(self.d.select(test, a, b)) for a, b in zip(yes, no))

    def differ(self, type_: Type, a: tuple[str, ...], b: tuple[str, ...]) -> str:
        """Return the name of a bool that is true if two values differ in some component. Two NaN count as equal."""
        types = scalars_of(type_)
        if self.d.wides and spans(types):
            return self.fold("differ", len(types), a, b)
        tests = [self.name(self.differs(t, x, y)) for t, x, y in zip(types, a, b)]
        return self.name(self.d.either(*tests))

    def differs(self, type_: Type, a: str, b: str) -> str:
        """Code that tests whether two scalars differ. Two NaN count as equal."""
        assert isinstance(type_, Scalar)
        if not type_.floating:
            return f"{a} != {b}"
        return self.d.both(f"({a} != {b})", f"({self.d.either(f'({a} == {a})', f'({b} == {b})')})")

    def least(self, op: str, type_: Type, a: str, b: str) -> str:
        """Return code of min or max of two scalars: b if b is better than a, otherwise a. `none` never wins.

        Args:
            op: "min" or "max".
            type_: The type of both operands.
            a: The operand that is chosen in a tie.
            b: The other operand.
        """
        sign = "<" if op == "min" else ">"
        if type_ == VERTEX and op == "max":
            up = [self.d.arithmetic("+", type_, name, "u32(1)") for name in (b, a)]
            return self.d.select(f"{up[0]} > {up[1]}", b, a)
        return self.d.select(f"{b} {sign} {a}", b, a)
