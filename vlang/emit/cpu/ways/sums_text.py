"""Passes that push sums of changes on a CPU: contributions are added to the accumulators of receivers.

Only active vertices contribute to a gather of changes (docs/language.md, section 4.5), so the gather is complete when
all active vertices have pushed. The functions of the pull are used again: `gather` adds a contribution to the
accumulator of a receiver, and `apply` takes the result. The skeleton `sums` also needs functions that load and store
these accumulators.
"""

from __future__ import annotations

from vlang.emit.cpu.ways.way_text import SPARSE, Added
from vlang.emit.shared.loop_spec import LoopPlan, changes_read
from vlang.emit.shared.reductions.packed import put_and_get
from vlang.emit.shared.stage import StageWriter
from vlang.emit.shared.values.dialect import scalars_of
from vlang.ir.forms import forms as f
from vlang.runtime.plan.plan import SumSpec
from vlang.types import BOOL

__all__ = ["SumsText"]


class SumsText:
    """Generates the code of pushed sums for passes of delta loops. The gathers of these passes are sums."""

    name = "sums"

    def write(self, writer: StageWriter) -> Added:
        """The functions `pour` and `poured`, which store and load the accumulator of a receiver."""
        plan, name = writer.plan, writer.stage.name
        if plan is None or plan.facts.loop(plan.loop.repeat).kind != "delta":
            return Added()  # such a loop can only push by joins (push_text)
        reason = _refused(writer, plan)
        if reason:
            return Added(reason=reason)
        spec = SumSpec(f"pushed:{name}", _exact(writer), _quiet(writer))
        functions = put_and_get(writer.env, writer.accumulations, spec.slot, "pushed", "pour", "poured")
        return Added(spec, functions=tuple(functions), skeletons=("sums",), roles={"sums": SPARSE})


def _refused(writer: StageWriter, plan: LoopPlan) -> str:
    """Return the reason why a stage of a delta loop cannot push sums; "" if it can."""
    stage = writer.stage
    if "sums" in writer.without:
        return "switched off"
    push = plan.facts.loop(plan.loop.repeat).push
    if not plan.skip or not push.granted:
        return push.reason if plan.skip else plan.skip_reason
    if not plan.fused or plan.starts or stage.stored:
        return "the loop takes several passes a superstep"
    if plan.readers[stage.name].own:
        return "vertices run again by what they change themselves"
    if not all(gather.reduce.operator == "+" and changes_read(gather.reduce) for gather in stage.gathers):
        return "the pass gathers more than sums of changes"
    return ""


def _exact(writer: StageWriter) -> bool:
    """Return whether sums have the same bits in any order of their terms."""
    return all(type_.integral or type_ == BOOL for accumulation in writer.accumulations
               for type_ in accumulation.types)


def _quiet(writer: StageWriter) -> bool:
    """Return whether fields of a vertex that receives nothing keep their bits.

    Floats may change their bits, since -0 + 0 is 0.
    """
    plan = writer.plan
    assert plan is not None
    activate = plan.loop.repeat.activate
    past = activate is not None and any(isinstance(e, f.Field) and e.time == "old" for e in f.walk(activate.cond))
    added = [e for write in writer.stage.writes for e in f.walk(write.value)
             if any(isinstance(part, f.Accumulator) for part in f.walk(e))]
    return not past and all(type_.integral for e in added for type_ in scalars_of(e.type))
