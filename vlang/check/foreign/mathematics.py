"""Functions of numbers and random numbers in other languages, and the expressions that have the same values."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from itertools import chain, count

from vlang.check.advice.proposals import operand
from vlang.check.foreign.more_calls import Advice
from vlang.check.tables.checking import Run
from vlang.check.tables.scope import GRAPH, Sight
from vlang.syntax import rewrite
from vlang.syntax import tree as t

__all__ = ["drawn", "foreign_draw", "foreign_number", "foreign_sketch", "foreign_time", "is_misspelled", "turns",
           "typed_text"]

_SAME = {**dict.fromkeys(("sgn", "signum"), "sign({0})"), **dict.fromkeys(("fabs", "absolute"), "abs({0})"),
         "ceiling": "ceil({0})", "rint": "round({0})", "fix": "trunc({0})", "ln": "log({0})",
         "minimum": "min({0}, {1})", "maximum": "max({0}, {1})", "clip": "clamp({0}, {1}, {2})",
         **dict.fromkeys(("power", "powf"), "pow({0}, {1})"), **dict.fromkeys(("arctan2",), "atan2({0}, {1})"),
         "saturate": "clamp({0}, 0, 1)"}
_WRITTEN = {
    **dict.fromkeys(("sigmoid", "logistic", "expit"), "1 / (1 + exp(-[0]))"), "logit": "log([0] / (1 - [0]))",
    "leaky_relu": "[0] if [0] > 0 else [1] * [0]", "elu": "[0] if [0] > 0 else exp([0]) - 1",
    "softplus": "log1p(exp({0}))", **dict.fromkeys(("silu", "swish"), "[0] / (1 + exp(-[0]))"),
    **dict.fromkeys(("square", "sq"), "[0] ** 2"), "cbrt": "sign({0}) * abs({0}) ** (1 / 3)",
    "rsqrt": "1 / sqrt({0})", **dict.fromkeys(("reciprocal", "inv", "inverse"), "1 / [0]"),
    "expm1": "exp({0}) - 1", "exp10": "10.0 ** [0]", "log10": "log({0}) / log(10)",
    "mod": "[0] % [1]", **dict.fromkeys(("floordiv", "floor_divide"), "[0] // [1]"),
    "hypot": "sqrt([0] ** 2 + [1] ** 2)", "lerp": "[0] + ([1] - [0]) * [2]", "bool": "[0] != 0",
    "sinh": "(exp({0}) - exp(-[0])) / 2", "cosh": "(exp({0}) + exp(-[0])) / 2",
    **dict.fromkeys(("asin", "arcsin"), "atan2({0}, sqrt(1 - [0] ** 2))"),
    **dict.fromkeys(("acos", "arccos"), "atan2(sqrt(1 - [0] ** 2), {0})"),
    **dict.fromkeys(("atan", "arctan"), "atan2({0}, 1)"), **dict.fromkeys(("isinf", "is_inf"), "abs({0}) == inf"),
    **dict.fromkeys(("isfinite", "is_finite"), "abs({0}) < inf"),
    **dict.fromkeys(("radians", "deg2rad"), "[0] * 3.141592653589793 / 180"),
    **dict.fromkeys(("degrees", "rad2deg"), "[0] * 180 / 3.141592653589793"),
}
"""Names, and expressions of their arguments: {0} is the text of the first, and [0] the same text as an operand."""

_CHOICES = frozenset({"choose", "comb", "binom", "binomial", "nchoosek", "nCr"})
_NONE_HERE = frozenset({"sort", "sorted", "argsort", "rank", "cumsum", "cumprod", "distance", "logb", "lg", "selu",
                        "gelu", "erf", "gamma", "lgamma", "hash", "popcount", "bitcount", "bit_count", "mix", "abs2",
                        "fmod", "rem", "div", "pow2", "nanmin", "nanmax", "shuffle", "unique", "diff", "histogram",
                        "hmean", "gmean", "wsum", "wmean"})
_SKETCHES = frozenset({"hash", "popcount", "bit_count", "bitcount", "trailing_zeros", "trailing_ones", "ctz", "clz",
                       "leading_zeros", "rho", "murmur", "xxhash"})
_DATED = re.compile(r"\d{4}-\d\d-\d\d")
_FOR = re.compile(r"for(?:each)? ?\(?(?:int |auto )?(\w+)")
_DRAWS = frozenset({"rand", "rnd", "uniform", "runif", "random_uniform", "randf", "randu", "frand", "drand48"})


def _filled(run: Run, node: t.Call, pattern: str) -> str:
    text = pattern
    for place, arg in enumerate(node.args):
        text = text.replace(f"{{{place}}}", rewrite.one_line(run.text(arg))).replace(f"[{place}]", operand(run, arg))
    return text


def foreign_number(run: Run, node: t.Call, at: Sight) -> Advice | None:
    """Return the advice on `sigmoid(x)`, `choose(n, 2)` and other functions of numbers."""
    if at.scope.find(node.name) is not None:
        return None
    name, many, title = node.name, len(node.args), f"there is no function `{node.name}`"
    if name in _CHOICES and many == 2 and isinstance(node.args[1], t.Literal) and node.args[1].value in (2, 3):
        pattern = "([0] * ([0] - 1) // 2)" if node.args[1].value == 2 else "([0] * ([0] - 1) * ([0] - 2) // 6)"
        return title, "the number of choices:", _filled(run, node, pattern), node
    if name in _SAME and many == 1 + max(k for k in range(3) if f"{{{k}}}" in _SAME[name]):
        said = _SAME[name]
        return title, f"it is `{said.partition('(')[0]}`:", _filled(run, node, said), node
    pattern = _WRITTEN.get(name, "")
    if pattern == _WRITTEN["leaky_relu"] and many == 1:
        pattern = pattern.replace("[1]", "0.01")
    if pattern and many == 1 + max(k for k in range(3) if f"[{k}]" in pattern or f"{{{k}}}" in pattern):
        return title, "written out:", f"({_filled(run, node, pattern)})", node
    return None


def drawn(run: Run, at: Sight, seed: str, keys: tuple[str, ...] = ()) -> str:
    """The call of `random` that gives another number for each vertex, each edge of a reduction, and each superstep, and
    other numbers than the other calls of the program.

    Args:
        run: the running check.
        at: its context.
        seed: the text of the seed; "" for the parameter `seed`, or 1.
        keys: the texts of further keys.
    """
    seed = seed or ("seed" if at.scope.find("seed") is not None else "1")
    member = next((symbol.name for symbol in at.scope.visible() if symbol.kind == "member"), "self")
    own = {"edges": "edge", "vertices": member}.get(at.inside or "", "self")
    rest = [key for key in (own, *(() if keys else turns(run, at))) if key not in (seed, *keys)]
    said = [run.file.text, *(line for problem in run.problems for line in problem.write)]
    texts = (f"random({', '.join([seed, *keys, *rest, *last])})" for last in chain([()], ((str(k),) for k in count(2))))
    return next(text for text in texts if not any(text in line for line in said))


def turns(run: Run, at: Sight) -> tuple[str, ...]:
    """The keys that have another value each time a loop around an expression runs its block."""
    numbers = tuple(symbol.name for symbol in at.scope.visible() if symbol.kind == "loop")
    if at.loop is None:
        return numbers[::-1]
    foreign = _FOR.match(run.text(at.loop.node))  # a line of another language, which is taken for a `repeat`
    return (*numbers[::-1], foreign[1] if foreign is not None else "iteration")


def foreign_draw(run: Run, node: t.Call, at: Sight) -> Advice | None:
    """Return the advice on `rand()`, `rand(seed)` and `uniform(0, 1)`."""
    if node.name not in _DRAWS or (at.highest <= GRAPH and at.inside is None) or at.scope.find(node.name) is not None:
        return None
    seed, *keys = [rewrite.one_line(run.text(arg)) for arg in node.args] or [""]
    if [seed, *keys] in (["0", "1"], ["0.0", "1.0"]):
        seed, keys = "", []
    elif len(keys) == 1 and node.name in ("uniform", "runif", "random_uniform"):
        low, high = (operand(run, arg) for arg in node.args)
        return (f"there is no function `{node.name}`", "a number in [0, 1) depends on its seed and keys alone:",
                f"({low} + ({high} - {low}) * {drawn(run, at, '')})", node)
    return (f"there is no function `{node.name}`", "a number in [0, 1) depends on its seed and keys alone:",
            drawn(run, at, seed, tuple(keys)), node)


def is_misspelled(name: str, known: str) -> bool:
    """Whether a name is probably a misspelled name of a function, with one wrong, missing or misplaced letter."""
    if name in _NONE_HERE or name in _WRITTEN or name in _SAME or name in _CHOICES:
        return False
    if name.lower().replace("_", "") == known.replace("_", "") or sorted(name) == sorted(known):
        return True
    kept = sum(block.size for block in SequenceMatcher(None, name, known, autojunk=False).get_matching_blocks())
    return max(len(name), len(known)) - kept <= 1


def typed_text(run: Run, text: str) -> str:
    """The type that a text in quotes is meant to have: a date or time, of the kind that the program declares first, or
    a category.
    """
    if _DATED.match(text.strip('"')) is None:
        return "category"
    declared = (run.text(item.type) for item in run.file.items if isinstance(item, (t.VertexField, t.EdgeField)))
    return next((one for one in declared if one.partition("[")[0] in ("date", "time")),
                "time" if "T" in text or " " in text else "date")


def foreign_sketch(run: Run, node: t.Call, at: Sight) -> Advice | None:
    """Return the advice on functions by which other languages build sketches of sets."""
    if node.name not in _SKETCHES or at.scope.find(node.name) is not None:
        return None
    return (f"there is no function `{node.name}`", "a sketch of a set is `hll_unit(seed, self)`, a `u8[64]`; `max` "
            "joins sketches, and `hll_size(x)` is the approximate number of elements", "", node)


def foreign_time(run: Run, node: t.Call, at: Sight) -> Advice | None:
    """Return the advice on `datetime("2010-01-01")`."""
    names = ("datetime", "date", "time", "timestamp", "to_datetime", "localdatetime", "strptime")
    given = node.args[0] if len(node.args) == 1 else None
    if node.name.lower() not in names or not isinstance(given, t.Literal) or not isinstance(given.value, str):
        return None
    text, title = run.text(given), f"there is no function `{node.name}`"
    param = next((one for one in run.file.params if one.default is node), None)
    if param is not None and param.type is None:
        return title, "a parameter has a type:", f"{param.name}: {typed_text(run, text)} = {text}", param
    return title, "a text stands for a date or time:", text, node
