"""The only table of functions of numbers: the number of operands, monotonicity, and whether values may be infinite or
NaN.

The checker, the analysis, both code generators, trap mode and the editor read this table. Section 8 of language.md
defines each function. The reference interpreter implements the functions independently.
"""

from __future__ import annotations

from vlang.records import dataclass

__all__ = ["MATHS", "REAL", "WHOLE", "MathFunction"]


@dataclass(frozen=True)
class MathFunction:
    """Properties of a function of floats.

    Attributes:
        name: The name of the function in programs, and of its operator in the IR.
        help: One line for the editor.
        operands: The number of operands. All operands have the same type.
        whole: Whether the result is rounded to an integer (`int`); otherwise, the result is a float.
        rises: Whether a larger operand never gives a smaller value.
        positive: "always" if every value is >= 0; "kept" if the value is >= 0 for every operand >= 0; else "".
        infinite: Whether a value may be infinite although no operand is infinite.
        undefined: Whether a value may be NaN although no operand is NaN.
        numpy: The name of the NumPy function, if it differs from `name`.
        library: The name of the C function, if it differs from `name`.
    """

    name: str
    help: str
    operands: int = 1
    whole: bool = False
    rises: bool = True
    positive: str = ""
    infinite: bool = False
    undefined: bool = False
    numpy: str = ""
    library: str = ""


MATHS: dict[str, MathFunction] = {
    rule.name: rule
    for rule in (
        MathFunction("sqrt", "`sqrt(x)`: the square root", positive="always", undefined=True),
        MathFunction("exp", "`exp(x)`: e to the power x", positive="always", infinite=True),
        MathFunction("exp2", "`exp2(x)`: 2 to the power x", positive="always", infinite=True),
        MathFunction("log", "`log(x)`: the natural logarithm", infinite=True, undefined=True),
        MathFunction("log2", "`log2(x)`: the logarithm to base 2", infinite=True, undefined=True),
        MathFunction("log1p", "`log1p(x)`: the logarithm of 1 + x, exact for small x", positive="kept", infinite=True,
                     undefined=True),
        MathFunction("tanh", "`tanh(x)`: the hyperbolic tangent", positive="kept"),
        MathFunction("sin", "`sin(x)`: the sine of x, in radians", rises=False, undefined=True),
        MathFunction("cos", "`cos(x)`: the cosine of x, in radians", rises=False, undefined=True),
        MathFunction("tan", "`tan(x)`: the tangent of x, in radians", rises=False, undefined=True),
        MathFunction("atan2", "`atan2(y, x)`: the angle of the point (x, y), in radians from -pi to pi", operands=2,
                     rises=False, numpy="arctan2"),
        MathFunction("floor", "`floor(x)`: the integer at or below", whole=True, positive="kept"),
        MathFunction("ceil", "`ceil(x)`: the integer at or above", whole=True, positive="kept"),
        MathFunction("round", "`round(x)`: the nearest integer; of two equally near ones the even one", whole=True,
                     positive="kept", numpy="rint", library="rint"),
        MathFunction("trunc", "`trunc(x)`: the integer next to x towards 0", whole=True, positive="kept"),
    )
}
"""Every function, by name."""

REAL = frozenset(name for name, rule in MATHS.items() if not rule.whole)
"""The functions that give a float."""

WHOLE = frozenset(name for name, rule in MATHS.items() if rule.whole)
"""The functions that round to an integer."""
