"""Graph-level values as numba text: a fold over vertices where they need one, then one entry of `scalars`."""

from __future__ import annotations

from dataclasses import dataclass, field

from vlang.emit.numba_expressions import Writer, located
from vlang.emit.numba_frame import Environment, Frame, Scope, Times, load, store
from vlang.emit.numba_reductions import Accumulation
from vlang.emit.numba_stage import called, function, parts_of, skeleton, tuple_text
from vlang.ir import forms as f
from vlang.runtime.kernelset import Fold, ScalarSpec
from vlang.syntax.tree import Span

__all__ = ["ScalarWriter"]


@dataclass
class ScalarWriter:
    """Writes the scalars of a program, one after the other; `text` is the whole at the end."""

    frame: Frame
    texts: list[str] = field(default_factory=list)
    folds: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, name: str, kind: str, value: f.Expr, span: Span, times: Times) -> ScalarSpec:
        """Write the value of scalar `name`. times: where old and told values lie."""
        number = self.count
        self.count += 1
        env = Environment(self.frame)
        reduces = [e for e in dict.fromkeys(f.walk(value)) if isinstance(e, f.Reduce)]
        functions: list[str] = []
        lines: list[str] = []
        values: dict[f.Expr, tuple[str, ...]] = {}
        with located(span):
            accumulations = [Accumulation.of(reduce) for reduce in reduces]
            if reduces:
                functions = self._fold(env, accumulations, number, times)
                lines = _merged(number)
            writer = Writer(Scope(env, values=values, times=times))
            at = 0
            for reduce, accumulation in zip(reduces, accumulations):
                parts = tuple(f"acc[{i}]" for i in range(at, at + len(accumulation.types)))
                at += len(accumulation.types)
                values[reduce] = accumulation.finish(writer, tuple(map(writer.name, parts)))
            result = writer.value(value)
        slot = self.frame.scalar(name, value.type)
        lines += [*writer.lines, f"store_{self.frame.scalars[name]}(frame, {slot}, {store(value.type, result)})"]
        functions.insert(0, called(env.bind(), f"v{number}"))
        functions.append(function(f"scalar_v{number}(frame, blocks)", [f"env = bind_v{number}(frame)", *lines], ""))
        self.texts.append("\n\n".join(functions))
        fold = None
        if reduces:
            self.texts.append(skeleton("fold", f"v{number}"))
            self.folds.append(f"fold_v{number}")
            fold = Fold(f"fold_v{number}")
        return ScalarSpec(name, kind, number, fold)

    def _fold(
        self, env: Environment, accumulations: list[Accumulation], number: int, times: Times
    ) -> list[str]:
        """identity, gather, merge, put and get for the partial results of a fold."""
        identity = [text for a in accumulations for text in a.identity]
        types = [t for a in accumulations for t in a.types]
        stored = [s for a in accumulations for s in a.stored]
        writer = Writer(Scope(env, times=times))
        taken: list[str] = []
        for accumulation, parts in parts_of(accumulations, "acc"):
            taken.extend(accumulation.take(writer, parts))
        joiner = Writer(Scope(env))
        merged = [name for (a, left), (_, right) in zip(parts_of(accumulations, "a"), parts_of(accumulations, "b"))
                  for name in a.merge(joiner, left, right)]
        pointers = []
        for index, dtype in enumerate(stored):
            slot = f"part:v{number}.{index}"
            self.frame.array(slot, dtype, "blocks")
            pointers.append(env.pointer(slot, dtype))
        texts = [
            function("identity(env)", [], tuple_text(identity)),
            function("gather(env, acc, v)", writer.lines, tuple_text(taken)),
            function("merge(a, b)", joiner.lines, tuple_text(merged)),
            function("put(env, s, acc)",
                     [f"{p}[s] = {store(t, f'acc[{i}]')}" for i, (p, t) in enumerate(zip(pointers, types))], ""),
            function("get(env, s)", [], tuple_text([load(t, f"{p}[s]") for p, t in zip(pointers, types)])),
        ]
        return [called(text, f"v{number}") for text in texts]

    @property
    def text(self) -> str:
        """All scalars and `scalars(frame, which, blocks)`, which evaluates one."""
        cases = []
        for number in range(self.count):
            cases += [f"if which == {number}:", f"    scalar_v{number}(frame, blocks)"]
        head = "def scalars(frame, which, blocks):\n"
        return "\n\n".join([*self.texts, head + "".join(f"    {line}\n" for line in cases or ["pass"])])


def _merged(number: int) -> list[str]:
    return [
        f"acc = identity_v{number}(env)",
        "for s in range(blocks):",
        f"    acc = merge_v{number}(acc, get_v{number}(env, s))",
    ]

