"""Passes of a loop with a uniform frontier (rule X2) on a CPU: the functions that the skeleton `reach` calls."""

from __future__ import annotations

from vlang.emit.cpu.ways.push_text import Pushing, pushing, sender_texts
from vlang.emit.cpu.ways.way_text import CREW, SPARSE, Added
from vlang.emit.shared.sending import early_of, is_final
from vlang.emit.shared.stage import StageWriter
from vlang.emit.shared.values.dialect import Function, stored_as
from vlang.reductions import identity

__all__ = ["ReachText"]


class ReachText:
    """Generates the code of searches with a uniform frontier."""

    name = "reach"

    def write(self, writer: StageWriter) -> Added:
        """Return the functions of `_functions`. Contributions are joined into the field itself."""
        how = pushing(writer)
        if not how.uniform:
            return Added(reason=how.reason)
        roles = {**dict.fromkeys(("start", "mark", "unite", "early", "spot", "take"), SPARSE), "narrow": CREW}
        return Added(how.spec, functions=_functions(writer, how), skeletons=("reach", "narrow", "paged_reach"),
                     roles=roles)


def _functions(writer: StageWriter, how: Pushing) -> tuple[Function, ...]:
    """Return the functions `level`, `is_final`, `reach` and `renew` (see skeletons/holes.pyi), and the functions that
    `level` calls.
    """
    d, (name,), (type_,) = writer.dialect, how.fields, how.types
    far = d.constant(identity(writer.stage.gathers[0].reduce.name, type_), type_)
    lines = ("value = receive(env, columns, sender_part(env, u), identity(env), u, u, i64(0))[0]",)
    pointer = writer.env.pointer(f"field:{name}", stored_as(type_))
    return (*sender_texts(writer),
            Function("level", lines, f"value, value != {far}"),
            Function("is_final", (), is_final(writer, early_of(writer))),
            Function("renew", (f"old = {pointer}[v]", f"fresh = {d.load(type_, 'old')} == {far}",
                               f"{pointer}[v] = {d.store(type_, 'value')} if fresh else old"), "fresh"),
            Function("reach", (f"{pointer}[v] = {d.store(type_, 'value')}",), ""))
