"""The choice between push, pull and notify-pull for a superstep, and the direction of a uniform frontier.

The functions compare costs of edges on this machine (`vlang.runtime.cpu.passes.edge_costs`), or follow a published
rule. The state after the superstep does not depend on the choice.
"""

from __future__ import annotations

from vlang.runtime.cpu.passes.edge_costs import Costs
from vlang.runtime.plan.steps import StageSpec

__all__ = ["most_summed", "notify_costs", "reads_less", "reads_of", "should_look", "should_notify", "should_pull"]

_ALPHA, _BETA = 14, 24  # Beamer, Asanovic, Patterson (SC'12), section 5
_LISTED = 1.5  # time of an edge pulled by a listed vertex, divided by that of an edge in a full pass
_DENSE = 20  # Shun, Blelloch: Ligra (PPoPP'13), section 4


def should_notify(
    costs: Costs | None, reached: int, edges: int, random: float = 1.0, rows: float = 0.0, pulled: float = 0.0,
    fixed: float = 0.0, reads: int = 1,
) -> bool:
    """Return whether a pass should run as notify-pull: mark the receivers of changed vertices, and let only these pull.

    Notify-pull is chosen if twice the cost of the notification, plus the cost of the pull by the receivers, is at most
    the cost of a full pass. The factor two accounts for the list of changed vertices. The factor _LISTED in the cost of
    the pull accounts for the rows of listed vertices, which are neither contiguous nor in cache blocks. The published
    rule (costs is None) is reached / edges <= 1 / (2 k), as in Garaph (USENIX ATC'17, section 4.2), where k is 1 for a
    graph in memory. This rule ignores the cost of the pull by the receivers.

    Args:
        costs: the costs of edges; None for the published rule.
        reached: the number of out-edges of changed vertices, along which they notify their receivers.
        edges: the number of edges of a full pass.
        random: k, the time of a random read divided by the time of a sequential read.
        rows: an estimate of the number of receivers; 0 to ignore the cost of their pull.
        pulled: an estimate of the number of edges that the receivers pull.
        fixed: the additional time of the launches of notify-pull over the launch of a full pass, in nanoseconds.
        reads: the number of arrays that a pulled edge reads (see `reads_of`).
    """
    if costs is None:
        return 2 * random * reached <= edges
    edge, row, pulled_edge, full = notify_costs(costs, edges, reads)
    return fixed + reached * edge + rows * row + pulled * pulled_edge <= full


def notify_costs(costs: Costs | None, edges: int, reads: int) -> tuple[float, float, float, float]:
    """Return the costs that `should_notify` compares, in nanoseconds; all are 0 if `costs` is None.

    There are four costs: the cost of an edge that notifies, the cost of a listed row, the cost of an edge that a listed
    row pulls, and the cost of a full pass over `edges` edges. The costs of pulled edges grow with the number `reads` of
    arrays that an edge reads; a notification writes one byte whatever the pass reads.
    """
    if costs is None:
        return 0.0, 0.0, 0.0, 0.0
    pulled = reads * costs.pulled
    return 2 * costs.notified, costs.row, _LISTED * pulled, edges * pulled


def reads_of(stage: StageSpec) -> int:
    """The number of arrays that an edge of a pass reads, at least 1: fields of the neighbour, and edge columns."""
    return max(1, len(stage.near) + len(stage.columns))


def reads_less(notified: int, receivers: int, pages: int, full: int) -> bool:
    """Return whether notify-pull over pages on disk reads fewer bytes than a full pass.

    The receivers are known only after the notification, so the estimate assumes that the receivers are spread evenly
    over the pages.

    Args:
        notified: the bytes of the pages with edges along which changed vertices notify, without pages in memory.
        receivers: the maximum number of vertices that are notified.
        pages: the number of pages of a full pass.
        full: the bytes of the pages of a full pass, without pages in memory.
    """
    missed = (1 - 1 / pages) ** receivers if pages > 1 else float(receivers == 0)
    return notified + (1 - missed) * full < full


def should_pull(costs: Costs | None, active: int, reached: int, edges: int) -> bool:
    """Return whether a full pass over all edges is cheaper than a push from the active vertices.

    The published rule (costs is None) is active + reached > edges / 20 (Ligra).

    Args:
        costs: the costs of edges; None for the published rule.
        active: the number of active vertices.
        reached: the number of edges of active vertices.
        edges: the number of edges of a full pass.
    """
    if costs is None:
        return _DENSE * (active + reached) > edges
    return reached * costs.pushed > edges * costs.pulled


def most_summed(costs: Costs | None, workers: int, n: int, edges: int) -> int:
    """The maximum size of a frontier, in edges, for which one worker that pushes sums is faster than a full pull.

    Each edge may lead to a different vertex, whose apply then costs about two random accesses to fields. By the
    published rule (costs is None), the result is edges / 20 (Ligra).

    Args:
        costs: the costs of edges; None for the published rule.
        workers: the number of threads of a full pull.
        n: the number of vertices of the graph.
        edges: the number of edges of a full pull.
    """
    if costs is None:
        return edges // _DENSE
    full, apply = (edges + n) * costs.pulled / workers, 2 * costs.row
    few = min(n, full / (costs.summed + apply))
    return int(max(few, (full - n * apply) / costs.summed))


def should_look(
    costs: Costs | None, looking: bool, n: int, edges: int, active: int, reached: int, left: int, left_edges: int,
) -> bool:
    """Return whether unreached vertices should search for a neighbour in the frontier (bottom-up), instead of a push.

    An unreached vertex reads its edges until one leads to the frontier. The estimate assumes that each edge leads to
    the frontier with the probability reached / edges. By the published rule (costs is None), vertices begin to search
    if reached > left_edges / 14, and stop if active < n / 24 (Beamer et al.).

    Args:
        costs: the costs of edges; None for the published rule.
        looking: whether unreached vertices searched in the previous superstep.
        n: the number of vertices of the graph.
        edges: the number of edges of the graph.
        active: the number of vertices in the frontier.
        reached: the number of edges of the frontier.
        left: the number of unreached vertices.
        left_edges: the number of edges of unreached vertices.
    """
    if costs is None:
        return _BETA * active > n if looking else _ALPHA * reached > left_edges
    share = reached / max(1, edges)
    looked = min(left_edges, left / share) if share else left_edges
    return left * costs.row + looked * costs.marked < active * costs.row + reached * costs.marked
