"""Code of reductions: the components of an accumulator, and code that initialises, updates, merges and finishes them.

In this module one worker owns each accumulator, so every operation is a plain update (language.md section 13, column
"numba owned"). The module vlang.emit.cuda.unified has the operations on accumulators that threads of a GPU share.
"""

from __future__ import annotations

from collections.abc import Mapping

from vlang.emit.shared.reductions.exact_sums import Exact, exact_of
from vlang.emit.shared.values.dialect import Run, runs_of, scalars_of
from vlang.emit.shared.values.formulas import Unwritable, Writer
from vlang.ir.forms import forms as f
from vlang.ir.forms.ranges import Ranges
from vlang.records import dataclass
from vlang.reductions import REDUCTIONS, ReductionRule, accumulator, identity
from vlang.types import BOOL, F64, I64, Scalar, Tuple, Vector

__all__ = ["Accumulation"]


@dataclass(frozen=True)
class Accumulation:
    """How one reduction is accumulated.

    Attributes:
        reduce: the reduction.
        types: the types of the components of the accumulator. It consists of the value, for `mean` also of the number
            of contributions, and with a `default` also of a bool that is true after a contribution.
        declared: the declaration of the reduction, if the program declares it; otherwise None.
        exact: how a sum or product of integers is accumulated; otherwise None.
    """

    reduce: f.Reduce
    types: tuple[Scalar, ...]
    declared: f.UserReduction | None = None
    exact: Exact | None = None

    @staticmethod
    def of(reduce: f.Reduce, declared: Mapping[str, f.UserReduction], ranges: Ranges) -> Accumulation:
        """The accumulation of a reduction.

        Args:
            reduce: The reduction.
            declared: The reductions that the program declares, by name.
            ranges: The ranges of the integers of the program.

        Raises Unwritable for reductions that need all contributions at the same time.
        """
        own = declared[reduce.name] if reduce.user else None
        exact = exact_of(reduce, ranges)
        body, over_vertices = reduce.body.type, not reduce.domain.edges
        if own is not None:
            types = (*scalars_of(own.wide), *((BOOL,) if own.exact else ()))
        elif REDUCTIONS[reduce.name].holistic:
            raise Unwritable(f"`{reduce.name}`")
        elif REDUCTIONS[reduce.name].result == "float":
            types = (F64, I64)
        elif REDUCTIONS[reduce.name].result == "int":
            assert isinstance(reduce.type, Scalar)
            types = (I64 if over_vertices else reduce.type,)
        elif exact is not None:
            types = exact.types
        elif isinstance(body, Tuple):
            types = body.items
        else:
            types = tuple(accumulator(reduce.name, part, over_vertices) for part in scalars_of(body))
        if reduce.default is not None:
            types = (*types, BOOL)
        return Accumulation(reduce, types, own, exact)

    @property
    def rule(self) -> ReductionRule | None:
        """The properties of the reduction; None if the program declares it."""
        return None if self.declared is not None else REDUCTIONS[self.reduce.name]

    @property
    def result(self) -> str:
        """The kind of the result, as in `ReductionRule`; "" if the program declares the reduction."""
        return "" if self.rule is None else self.rule.result

    @property
    def runs(self) -> tuple[Run, ...]:
        """The arrays of the components: one array for all components of a vector, otherwise one array for each
        component.
        """
        if not isinstance(self.reduce.body.type, Vector):
            return runs_of(Tuple(self.types))
        size = self.reduce.body.type.size
        flags = (Run(BOOL, 1, self.width),) if self.reduce.default is not None else ()
        return (*(Run(self.types[first], size, first) for first in range(0, self.width, size)), *flags)

    def identity(self, writer: Writer, types: tuple[Scalar, ...] | None = None) -> tuple[str, ...]:
        """Code of the components before any contribution.

        Args:
            types: the types of the components, if they differ from the types of the accumulator.
        """
        d = writer.d
        kinds = types or self.types
        if self.declared is not None:
            values = (*writer.items(self.declared.identity), *((d.false,) if self.declared.exact else ()))
        elif self.result == "float":
            values = (d.constant(0.0, kinds[0]), d.constant(0, kinds[1]))
        else:
            values = tuple(d.constant(False if t == BOOL and self.exact else identity(self.reduce.name, t), t)
                           for t in kinds[: self.width])
        return values if self.reduce.default is None else (*values, d.false)

    @property
    def width(self) -> int:
        """The number of components that hold the value."""
        return len(self.types) - (self.reduce.default is not None)

    def take(self, writer: Writer, before: tuple[str, ...]) -> tuple[str, ...]:
        """Return the components after the contribution of the current edge. The contribution is added only if the
        condition is true.
        """
        after = self.merge(writer, before, self.contribution(self._guarded(writer), self.types))
        return self._chosen(writer, after, before)

    def sent(self, writer: Writer, types: tuple[Scalar, ...]) -> tuple[str, ...]:
        """Return the components, in `types`, of one contribution to send. If the condition is false, the contribution
        is the identity.
        """
        return self._chosen(writer, self.contribution(self._guarded(writer), types), self.identity(writer, types))

    def _guarded(self, writer: Writer) -> Writer:
        """Return a writer whose loops over common neighbours run only if the condition of the reduction is true."""
        if self.reduce.cond is None or not self.reduce.pairs:
            return writer
        inner = writer.elsewhere(writer.place)
        inner.guard = writer.value(self.reduce.cond)
        return inner

    def _chosen(self, writer: Writer, yes: tuple[str, ...], no: tuple[str, ...]) -> tuple[str, ...]:
        if self.reduce.cond is None:
            return yes
        test = writer.value(self.reduce.cond)
        return writer.chosen(test, self.types, yes, no)

    def contribution(self, writer: Writer, types: tuple[Scalar, ...]) -> tuple[str, ...]:
        """Return the components, in `types`, of a single contribution, without regard to the condition."""
        body, d = self.reduce.body, writer.d
        if self.result == "int":
            one = writer.value(body)
            values: tuple[str, ...] = (writer.name(d.convert(types[0], d.select(one, "1", "0"))),)
        elif self.declared is not None:
            values = writer.widened(self.declared, writer.items(body))
            values = (*values, d.false) if self.declared.exact else values
        elif isinstance(body.type, Tuple):
            values = writer.items(body)
        elif self.exact is not None:
            values = self.exact.contribution(writer, body)
        else:
            values = writer.converted(types, writer.items(body))
            if self.result == "float":
                values = (*values, d.constant(1, types[1]))
        if self.reduce.default is None:
            return values
        counts = d.true
        if isinstance(body.type, Tuple) and self.declared is None:
            first = body.type.items[0]
            counts = writer.name(f"{values[0]} != {d.constant(identity(self.reduce.name, first), first)}")
        return (*values, counts)

    def merge(self, writer: Writer, a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...]:
        """Merge two accumulators, and return the components. The contributions of `a` precede the contributions of `b`.
        """
        body, d, width = self.reduce.body.type, writer.d, self.width
        if self.declared is not None:
            size = width - self.declared.exact
            first, second = (tuple(map(writer.name, side[:size])) for side in (a, b))
            joined, left = writer.joined(self.declared, first, second)
            if self.declared.exact:
                joined = (*joined, writer.name(d.either(a[size], b[size], *left)))
        elif isinstance(body, Tuple):
            wins = writer.tuple_wins(self._sign, body, b[:width], a[:width])
            joined = tuple(writer.name(d.select(wins, y, x)) for x, y in zip(a[:width], b[:width]))
        elif self.exact is not None:
            joined = self.exact.merge(writer, a, b)
        else:
            joined = writer.combined(self._sign, self.types[:width], a[:width], b[:width])
        return joined if self.reduce.default is None else (*joined, writer.name(d.either(a[-1], b[-1])))

    @property
    def _sign(self) -> str:
        """Return the operator that merges two components; both targets have the same operator."""
        assert self.rule is not None
        assert self.rule.monoid is not None
        return self.rule.monoid.merge

    def finish(self, writer: Writer, parts: tuple[str, ...]) -> tuple[str, ...]:
        """The value of the reduction from its components; `default` if nothing contributed."""
        result = self.reduce.type
        if self.declared is not None and self.declared.exact:
            values, outside = writer.narrowed(self.declared, parts[: self.width - 1])
            writer.left += [parts[self.width - 1], *outside]
        elif self.declared is not None or isinstance(result, Tuple):
            values = parts[: self.width]
        elif self.exact is not None:
            values = self.exact.finish(writer, parts[: self.width])
        else:
            texts = (f"{parts[0]} / f64({parts[1]})",) if self.result == "float" else parts[: self.width]
            values = writer.converted(scalars_of(result), texts)
        if self.reduce.default is None:
            return values
        default = writer.items(self.reduce.default)
        return writer.chosen(parts[-1], scalars_of(result), values, default)
