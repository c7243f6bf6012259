"""Functions that compute graph-level values. If a value needs a fold over vertices, the fold is computed first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from vlang.emit.shared.reductions.accumulate import Accumulation
from vlang.emit.shared.reductions.packed import merged, parts_of, put_and_get
from vlang.emit.shared.values.dialect import Dialect, Function, stored_as
from vlang.emit.shared.values.formulas import Writer, located
from vlang.emit.shared.values.frame import Environment, Frame, Scope, Times, parts_of_name
from vlang.ir.forms import forms as f
from vlang.records import dataclass
from vlang.runtime.plan.plan import Fault, Fold, ScalarSpec
from vlang.syntax.tree import Span
from vlang.types import BOOL, I64, Vector

__all__ = ["ScalarText", "ScalarWriter"]


@dataclass(frozen=True)
class ScalarText:
    """The code of a graph-level value.

    Attributes:
        name: The name of the scalar in the plan.
        number: The number of the scalar, unique among the scalars of the program.
        env: The environment of its functions.
        accumulations: The reductions over vertices in the value, with components side by side in `acc`.
        functions: The functions of the fold; empty if the value has no fold.
        lines: The code that computes the value from the accumulators `acc`, and stores the value.
    """

    name: str
    number: int
    env: Environment
    accumulations: tuple[Accumulation, ...]
    functions: tuple[Function, ...]
    lines: tuple[str, ...]

    @property
    def folds(self) -> bool:
        """Whether the value is computed from reductions over vertices."""
        return bool(self.accumulations)


@dataclass
class ScalarWriter:
    """Writes the scalars of a program.

    Attributes:
        frame: The slots of the program.
        dialect: The dialect of the target.
        finish: Turns one ScalarText into code of the target.
        texts: The code of all scalars, in order.
        folds: The code of all folds.
    """

    frame: Frame
    dialect: Dialect
    finish: Callable[[ScalarText], str]
    texts: list[str] = field(default_factory=list)
    folds: list[str] = field(default_factory=list)

    def add(self, name: str, kind: str, value: f.Expr, span: Span, times: Times,
            sides: tuple[f.Expr, ...] = ()) -> ScalarSpec:
        """Write a scalar.

        Args:
            name: The name of the scalar in the plan.
            kind: "let", "global", "until" and so on.
            value: Its expression.
            span: Its place in the program.
            times: The arrays that hold past values.
            sides: Parts of `value` that are stored separately, for the report of a run.
        """
        number = len(self.texts)
        env = Environment(self.frame, self.dialect)
        reduces = [e for e in dict.fromkeys(f.walk(value)) if isinstance(e, f.Reduce)]
        functions: list[Function] = []
        values: dict[f.Expr, tuple[str, ...]] = {}
        with located(span):
            accumulations = [Accumulation.of(reduce, self.frame.reductions, self.frame.ranges) for reduce in reduces]
            if reduces:
                functions = self._fold(env, accumulations, number, times)
            writer = Writer(Scope(env, values=values, times=times), self.dialect)
            for reduce, (accumulation, parts) in zip(reduces, parts_of(self.dialect, accumulations, "acc")):
                values[reduce] = accumulation.finish(writer, tuple(map(writer.name, parts)))
            results = writer.items(value)
            beside = [item for side in sides for item in writer.items(side)]
        left = self._left(writer, env, number, span)
        names = tuple(f"{name}.side{i}" for i in range(len(sides)))
        if kind == "parameter" and isinstance(value.type, Vector):
            return self._vector(name, number, value.type, env, writer, results)
        stored = [*parts_of_name(name, value.type), *zip(names, (side.type for side in sides))]
        stores = [self.dialect.store_scalar(stored_as(t), self.frame.scalar(part, t), self.dialect.store(t, result))
                  for (part, t), result in zip(stored, (*results, *beside))]
        text = ScalarText(name, number, env, tuple(accumulations), tuple(functions), (*writer.lines, *stores, *left))
        self.texts.append(self.finish(text))
        fold = None
        if reduces:
            self.folds.append(f"fold_v{number}")
            fold = Fold(f"fold_v{number}", env.arrays)
        return ScalarSpec(name, kind, number, fold, names)

    def _vector(self, name: str, number: int, type_: Vector, env: Environment, writer: Writer,
                results: tuple[str, ...]) -> ScalarSpec:
        """Write the default value of a parameter that is a vector.

        Args:
            name: The name of the parameter.
            number: The number of the scalar.
            type_: The type of the parameter.
            env: The environment of the code.
            writer: The writer of the components.
            results: The names of the components.
        """
        d = self.dialect
        places = env.given(name, type_)
        stores = [d.assign(place, d.store(type_.item, result)) for place, result in zip(places, results)]
        self.texts.append(self.finish(ScalarText(name, number, env, (), (), (*writer.lines, *stores))))
        return ScalarSpec(name, "parameter", number, None)

    def _left(self, writer: Writer, env: Environment, number: int, span: Span) -> list[str]:
        """Return the lines that record whether a declared reduction overflowed its type in the computation of the
        value.
        """
        if not writer.left:
            return []
        d, name = self.dialect, f"left.{number}"
        slot = self.frame.scalar(name, BOOL)
        self.frame.faults[name] = Fault(name, span.line, False)
        now = writer.name(d.either(*(f"({one})" for one in (env.scalar(name, BOOL), *writer.left))))
        return [d.store_scalar("u8", slot, d.store(BOOL, now))]

    def _fold(
        self, env: Environment, accumulations: list[Accumulation], number: int, times: Times
    ) -> list[Function]:
        """The functions `identity`, `take`, `merge`, `put` and `get` for the partial results of a fold."""
        d = self.dialect
        nothing = Writer(Scope(env), d)
        identity = [text for a in accumulations for text in a.identity(nothing)]
        writer = Writer(Scope(env, times=times), d)
        taken: list[str] = []
        for accumulation, parts in parts_of(d, accumulations, "acc"):
            name = accumulation.reduce.domain.set_name
            taken.extend(_take(writer, accumulation, parts) if name is None else
                         _take_member(env, writer, accumulation, parts, times))
        return [
            Function("identity", tuple(nothing.lines), d.pack("Acc", identity)),
            Function("take", tuple(writer.lines), d.pack("Acc", taken)),
            merged(Writer(Scope(env), d), accumulations),
            *put_and_get(env, accumulations, f"part:v{number}", "blocks", "put", "get"),
        ]


def _take(writer: Writer, accumulation: Accumulation, parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the components after the contribution of vertex v. If the condition is false, the contribution is the
    identity.

    LLVM would compile a conditional addition to a masked store, which is slower than an addition of the identity.
    """
    if accumulation.declared is not None:
        return accumulation.take(writer, parts)
    return accumulation.merge(writer, parts, accumulation.sent(writer, accumulation.types))


def _take_member(
    env: Environment, writer: Writer, accumulation: Accumulation, parts: tuple[str, ...], times: Times
) -> tuple[str, ...]:
    """Return the components after the contribution of member v of a set. If v is not below the size of the set, nothing
    is added.
    """
    d, name = writer.d, accumulation.reduce.domain.set_name
    assert name is not None
    members, _, _, count = env.members(name)
    there = writer.name(f"{d.convert(I64, 'v')} < {count}")
    member = writer.name(f"{members}[{d.select(there, 'v', '0')}]")
    after = accumulation.take(writer.elsewhere(Scope(env, here=member, times=times)), parts)
    return tuple(writer.name(d.select(there, a, b)) for a, b in zip(after, parts))
