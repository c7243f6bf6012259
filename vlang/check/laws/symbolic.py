"""Values as z3 formulas, for proofs about declared reductions (see vlang.check.laws.solver).

Laws are about real numbers, so a float is a real number, one of two infinities, or undefined (NaN). There is one zero,
and the result of a division by zero is left undetermined. Integers are exact; the largest and smallest 64-bit integers
are `inf` and `-inf`. Operands for which a result overflows 64 bits are left out, since a run with such an overflow ends
with an error.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
from dataclasses import field
from typing import Any

from vlang.check.laws.domain import Interval
from vlang.records import dataclass
from vlang.types import BOOL, I64, Scalar, Tuple, Type

__all__ = ["Formula", "Real", "Terms", "Untranslatable", "Whole", "installed"]

Formula = Any
"""A Boolean or other expression of z3, whose package has no type annotations."""


class Untranslatable(Exception):
    """An expression that cannot be translated to a formula."""


def installed() -> bool:
    """Return whether z3 is installed (extra `smt`)."""
    return importlib.util.find_spec("z3") is not None


@dataclass(frozen=True)
class Real:
    """A float, as a formula for its number and a formula for each special value.

    Attributes:
        value: the number, if the float is finite.
        up: whether the float is inf.
        down: whether it is -inf.
        nan: whether it is NaN.
    """

    value: Formula
    up: Formula
    down: Formula
    nan: Formula


@dataclass(frozen=True)
class Whole:
    """An integer. If the integer is infinite, `value` is the largest or smallest 64-bit integer."""

    value: Formula
    type: Scalar


@dataclass
class Terms:
    """Builds formulas. Each object has a z3 context of its own, since threads must not share a context.

    Attributes:
        assumed: formulas that hold for all operands considered.
    """

    z3: Any = field(default_factory=lambda: importlib.import_module("z3"))
    assumed: list[Formula] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.context = self.z3.Context()

    def _bool(self, value: bool) -> Formula:
        return self.z3.BoolVal(value, self.context)

    def _number(self, value: float) -> Formula:
        return self.z3.RealVal(repr(value), self.context)

    # ------------------------------------------------------------------- leaves
    def variable(self, name: str, type_: Scalar, interval: Interval, finite: bool) -> Any:
        """An operand or parameter, assumed to lie in an interval.

        Args:
            name: the name of the variable in formulas.
            type_: the type of its values.
            interval: the allowed values.
            finite: whether infinite values are excluded.
        """
        if type_ == BOOL:
            return self.z3.Bool(name, self.context)
        if type_.floating:
            return self._float(name, interval, finite)
        if not type_.integral or type_.weak:
            raise Untranslatable
        whole = Whole(self.z3.Int(name, self.context), type_)
        low, high = type_.lowest, type_.highest
        if math.isfinite(interval.low):
            least = math.ceil(interval.low)
            low = max(low, least if interval.holds(least) else least + 1)
        if math.isfinite(interval.high):
            most = math.floor(interval.high)
            high = min(high, most if interval.holds(most) else most - 1)
        if low > high:
            raise Untranslatable
        signed = type_.kind == "int" and not finite
        ends = [wide for end, own, wide in ((low, type_.lowest, I64.lowest), (high, type_.highest, I64.highest))
                if signed and end == own]
        if type_.kind == "int":
            low, high = max(low, type_.lowest + 1), min(high, type_.highest - 1)
        within = self.all(whole.value >= low, whole.value <= high)
        self.assumed.append(self.any(within, *(whole.value == end for end in ends)) if ends else within)
        return whole

    def _float(self, name: str, interval: Interval, finite: bool) -> Real:
        z3 = self.z3
        up, down = (z3.Bool(name + sign, self.context) for sign in "+-")
        made = Real(z3.Real(name, self.context), up, down, self._bool(False))
        self.assumed.append(z3.Not(z3.And(made.up, made.down)))
        if finite or not interval.holds(math.inf):
            self.assumed.append(z3.Not(made.up))
        if finite or not interval.holds(-math.inf):
            self.assumed.append(z3.Not(made.down))
        if math.isfinite(interval.low):
            low = self._number(interval.low)
            self.assumed.append(z3.Or(made.up, made.value > low if interval.open_low else made.value >= low))
        if math.isfinite(interval.high):
            high = self._number(interval.high)
            self.assumed.append(z3.Or(made.down, made.value < high if interval.open_high else made.value <= high))
        return made

    def fit(self, value: Any, type_: Type) -> Any:
        """Convert a value to a type; Python numbers become constants. Raises Untranslatable."""
        if isinstance(type_, Tuple):
            if not isinstance(value, tuple):
                raise Untranslatable
            return tuple(self.fit(v, s) for v, s in zip(value, type_.items, strict=True))
        if not isinstance(type_, Scalar) or isinstance(value, tuple):
            raise Untranslatable
        if type_ == BOOL:
            if isinstance(value, (int, float, Real, Whole)) and not isinstance(value, bool):
                raise Untranslatable
            return self._bool(value) if isinstance(value, bool) else value
        if type_.floating:
            return self._real(value)
        return self._whole(value, type_)

    def _real(self, value: Any) -> Real:
        z3, no = self.z3, self._bool(False)
        if isinstance(value, Real):
            return value
        if isinstance(value, Whole):
            signed = value.type.kind == "int"
            plain = z3.ToReal(value.value)
            up, down = (value.value == end if signed else no for end in (I64.highest, I64.lowest))
            return Real(plain, up, down, no)
        if not isinstance(value, (int, float)) or isinstance(value, bool) or value != value:
            raise Untranslatable
        if isinstance(value, float) and math.isinf(value):
            return Real(self._number(0), self._bool(value > 0), self._bool(value < 0), no)
        return Real(self._number(value), no, no, no)

    def _whole(self, value: Any, type_: Scalar) -> Whole:
        z3 = self.z3
        if isinstance(value, Whole):
            if value.type.kind != type_.kind and not (value.type.kind == "uint" and value.type.bits < type_.bits):
                raise Untranslatable
            return Whole(value.value, type_)
        if isinstance(value, float) and math.isinf(value) and type_.kind == "int":
            return Whole(z3.IntVal(I64.highest if value > 0 else I64.lowest, self.context), type_)
        if isinstance(value, bool) or not isinstance(value, int) or not type_.lowest <= value <= type_.highest:
            raise Untranslatable
        return Whole(z3.IntVal(value, self.context), type_)

    # --------------------------------------------------------------- connectives
    def not_(self, a: Formula) -> Formula:
        return self.z3.Not(a)

    def all(self, *parts: Formula) -> Formula:
        return self.z3.And(*parts)

    def any(self, *parts: Formula) -> Formula:
        return self.z3.Or(*parts)

    def choice(self, test: Formula, yes: Any, no: Any) -> Any:
        """`yes if test else no`, for values of one type."""
        if isinstance(yes, tuple):
            return tuple(self.choice(test, y, n) for y, n in zip(yes, no, strict=True))
        if isinstance(yes, Real):
            return Real(*(self.z3.If(test, y, n) for y, n in
                          zip((yes.value, yes.up, yes.down, yes.nan), (no.value, no.up, no.down, no.nan), strict=True)))
        if isinstance(yes, Whole):
            return Whole(self.z3.If(test, yes.value, no.value), yes.type)
        return self.z3.If(test, yes, no)

    # -------------------------------------------------------------- comparisons
    def less(self, a: Any, b: Any) -> Formula:
        """a < b, for values of one type; tuples compare lexicographically."""
        if isinstance(a, tuple):
            first = self.less(a[0], b[0])
            return first if len(a) == 1 else self.any(first, self.all(self.equal(a[0], b[0]), self.less(a[1:], b[1:])))
        if isinstance(a, Whole):
            return a.value < b.value
        if not isinstance(a, Real):
            raise Untranslatable
        known = self.not_(self.any(a.nan, b.nan))
        below = self.any(self.all(a.down, self.not_(b.down)), self.all(b.up, self.not_(a.up)),
                         self.all(self.finite(a), self.finite(b), a.value < b.value))
        return self.all(known, below)

    def equal(self, a: Any, b: Any) -> Formula:
        """a == b, for values of one type."""
        if isinstance(a, tuple):
            return self.all(*(self.equal(x, y) for x, y in zip(a, b, strict=True)))
        if isinstance(a, Whole):
            return a.value == b.value
        if not isinstance(a, Real):
            return a == b
        return self.any(self.all(a.up, b.up), self.all(a.down, b.down),
                        self.all(self.finite(a), self.finite(b), a.value == b.value))

    def finite(self, a: Real | Whole) -> Formula:
        """Return whether a value is neither infinite nor NaN."""
        if isinstance(a, Real):
            return self.not_(self.any(a.up, a.down, a.nan))
        return self.all(a.value != I64.highest, a.value != I64.lowest)

    def differ(self, a: Any, b: Any, undefined: bool) -> Formula:
        """Return whether two results differ.

        If `undefined`, NaN differs from every value; otherwise NaN counts as equal to every value.
        """
        if isinstance(a, tuple):
            return self.any(*(self.differ(x, y, undefined) for x, y in zip(a, b, strict=True)))
        different = self.not_(self.equal(a, b))
        if not isinstance(a, Real):
            return different
        nan = self.any(a.nan, b.nan)
        return self.any(self.all(nan, undefined), self.all(self.not_(nan), different))

    # --------------------------------------------------------------- arithmetic
    def binary(self, op: str, a: Any, b: Any) -> Any:
        """The result of a binary operator on two values of one type. Raises Untranslatable."""
        if isinstance(a, Real):
            made = {"+": self._add, "*": self._times, "/": self._divide}.get(op)
            if op == "-":
                return self._add(a, self.negated(b))
            if made is None:
                raise Untranslatable
            return made(a, b)
        if isinstance(a, Whole):
            return self._integers(op, a, b)
        logical = {"|": self.any, "&": self.all, "^": self.z3.Xor}.get(op)
        if logical is None:
            raise Untranslatable
        return logical(a, b)

    def _integers(self, op: str, a: Whole, b: Whole) -> Whole:
        plain = {"+": lambda: a.value + b.value, "-": lambda: a.value - b.value, "*": lambda: a.value * b.value}.get(op)
        if plain is None:
            raise Untranslatable
        result = Whole(plain(), a.type)
        both = self.all(self.finite(a), self.finite(b))
        within = self.all(result.value < I64.highest, result.value > I64.lowest)
        self.assumed.append(self.z3.Implies(both, within))
        if op == "*":  # products of infinite integers are left to other methods
            self.assumed.append(both)
            return result
        other = b if op == "+" else self.negated(b)
        right: Whole = self.choice(self.finite(b), result, other)
        absorbed: Whole = self.choice(self.finite(a), right, a)
        return absorbed

    def negated(self, a: Any) -> Any:
        """-a."""
        if isinstance(a, Real):
            return Real(-a.value, a.down, a.up, a.nan)
        if not isinstance(a, Whole):
            raise Untranslatable
        high, low = (Whole(self.z3.IntVal(end, self.context), a.type) for end in (I64.highest, I64.lowest))
        minus = Whole(-a.value, a.type)
        return self.choice(a.value == high.value, low, self.choice(a.value == low.value, high, minus))

    def absolute(self, a: Any) -> Any:
        """abs(a)."""
        if isinstance(a, Whole) and a.type.kind == "uint":
            return a
        zero = self.fit(0, a.type) if isinstance(a, Whole) else self._real(0)
        return self.choice(self.less(a, zero), self.negated(a), a)

    def root(self, a: Real) -> Real:
        """sqrt(a)."""
        z3 = self.z3
        value = z3.FreshReal("root", self.context)
        within = self.all(self.finite(a), a.value >= 0)
        self.assumed.append(z3.Implies(within, self.all(value >= 0, value * value == a.value)))
        return Real(value, a.up, self._bool(False), self.not_(self.any(within, a.up)))

    def _add(self, a: Real, b: Real) -> Real:
        nan = self.any(a.nan, b.nan, self.all(a.up, b.down), self.all(a.down, b.up))
        return Real(a.value + b.value, self.all(self.not_(nan), self.any(a.up, b.up)),
                    self.all(self.not_(nan), self.any(a.down, b.down)), nan)

    def _signs(self, a: Real) -> tuple[Formula, Formula, Formula]:
        """Three formulas: whether the value is above 0, whether it is below 0, and whether it is 0."""
        finite = self.finite(a)
        return (self.any(a.up, self.all(finite, a.value > 0)), self.any(a.down, self.all(finite, a.value < 0)),
                self.all(finite, a.value == 0))

    def _times(self, a: Real, b: Real) -> Real:
        (a_up, a_down, a_zero), (b_up, b_down, b_zero) = self._signs(a), self._signs(b)
        a_far, b_far = self.any(a.up, a.down), self.any(b.up, b.down)
        nan = self.any(a.nan, b.nan, self.all(a_far, b_zero), self.all(b_far, a_zero))
        far = self.all(self.not_(nan), self.any(a_far, b_far))
        same = self.any(self.all(a_up, b_up), self.all(a_down, b_down))
        return Real(a.value * b.value, self.all(far, same), self.all(far, self.not_(same)), nan)

    def _divide(self, a: Real, b: Real) -> Real:
        """a / b; the result is undetermined where b is 0."""
        z3 = self.z3
        (a_up, a_down, _), (b_up, b_down, b_zero) = self._signs(a), self._signs(b)
        a_far, b_far = self.any(a.up, a.down), self.any(b.up, b.down)
        nan = self.any(a.nan, b.nan, self.all(a_far, b_far))
        same = self.any(self.all(a_up, b_up), self.all(a_down, b_down))
        far = self.all(a_far, self.not_(nan))
        value = z3.If(b_far, self._number(0), a.value / b.value)
        plain = Real(value, self.all(far, same), self.all(far, self.not_(same)), nan)
        free = Real(z3.FreshReal("by_zero", self.context), *(z3.FreshBool("by_zero", self.context) for _ in range(3)))
        flags = (free.up, free.down, free.nan)
        self.assumed.append(z3.AtMost(*flags, 1))
        chosen: Real = self.choice(b_zero, free, plain)
        return chosen
