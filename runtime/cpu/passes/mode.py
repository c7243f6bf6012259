"""Which way a superstep goes: push, pull, notify-pull, or those whom nobody has reached look for the frontier.

Each way is weighed by what its edges cost on this machine (`vlang.runtime.cpu.passes.edge_costs`), or chosen by the
rule as it was published. The state that a superstep ends in is the same either way.
"""

from __future__ import annotations

from vlang.runtime.cpu.passes.edge_costs import Costs

__all__ = ["most_summed", "should_look", "should_notify", "should_pull"]

_ALPHA, _BETA = 14, 24  # Beamer, Asanovic, Patterson (SC'12), section 5
_DENSE = 20  # Shun, Blelloch: Ligra (PPoPP'13), section 4


def should_notify(costs: Costs | None, reached: int, edges: int) -> bool:
    """Whether a pass that may skip notifies along the `reached` edges of changed vertices, and who hears of it pulls.

    That may take half of what a full pass takes. Published (costs is None): f = reached / edges <= 1/2, the rule for
    graphs in memory of Garaph (USENIX ATC'17, section 4.2).
    """
    if costs is None:
        return 2 * reached <= edges
    return 2 * reached * costs.notified <= edges * costs.pulled


def should_pull(costs: Costs | None, active: int, reached: int, edges: int) -> bool:
    """Whether a full pass over `edges` is cheaper than pushing from `active` vertices along `reached` edges.

    Published: active + reached > edges / 20 (Ligra).
    """
    if costs is None:
        return _DENSE * (active + reached) > edges
    return reached * costs.pushed > edges * costs.pulled


def most_summed(costs: Costs | None, workers: int, n: int, edges: int) -> int:
    """Edges and vertices of the widest frontier along which one worker pushes sums sooner than `workers` of them pull
    along all `edges`.

    Each edge may lead to another of the n vertices, which then applies: two places anywhere, about, for what it reads
    and writes. Published: a twentieth (Ligra).
    """
    if costs is None:
        return edges // _DENSE
    full, apply = (edges + n) * costs.pulled / workers, 2 * costs.row
    few = min(n, full / (costs.summed + apply))
    return int(max(few, (full - n * apply) / costs.summed))


def should_look(
    costs: Costs | None, looking: bool, n: int, edges: int, active: int, reached: int, left: int, left_edges: int,
) -> bool:
    """Whether the `left` vertices that nobody has reached look for the frontier, rather than that it pushes.

    active, reached: vertices of the frontier and their edges. left_edges: edges of those left. looking: whether the
    superstep before looked. One that looks reads edges until it meets the frontier, which has `reached` of all
    `edges`. Published: from reached > left_edges / 14 on, until active < n / 24 (Beamer et al.).
    """
    if costs is None:
        return _BETA * active > n if looking else _ALPHA * reached > left_edges
    share = reached / max(1, edges)
    looked = min(left_edges, left / share) if share else left_edges
    return left * costs.row + looked * costs.marked < active * costs.row + reached * costs.marked
