"""The choice of how a superstep runs: push, pull, notify-pull, or a look of unreached vertices for the frontier.

The choice compares the costs of edges on this machine (`vlang.runtime.cpu.passes.edge_costs`), or follows the published
rule. The state after the superstep is the same either way.
"""

from __future__ import annotations

from vlang.runtime.cpu.passes.edge_costs import Costs

__all__ = ["most_summed", "reads_less", "should_look", "should_notify", "should_pull"]

_ALPHA, _BETA = 14, 24  # Beamer, Asanovic, Patterson (SC'12), section 5
_DENSE = 20  # Shun, Blelloch: Ligra (PPoPP'13), section 4


def should_notify(costs: Costs | None, reached: int, edges: int, random: float = 1.0) -> bool:
    """Whether a pass that may skip runs as notify-pull: mark the receivers of changed vertices, then pull those only.

    It is chosen if it costs at most half of a full pass. Published rule (costs is None): reached / edges <= 1 / (2 k),
    as in Garaph (USENIX ATC'17, section 4.2), where k is 1 for a graph in memory.

    Args:
        costs: the costs of edges; None for the published rule.
        reached: edges out of changed vertices, along which they notify.
        edges: edges of a full pass.
        random: k, how many times as long a random read takes as a sequential one.
    """
    if costs is None:
        return 2 * random * reached <= edges
    return 2 * reached * costs.notified <= edges * costs.pulled


def reads_less(notified: int, receivers: int, pages: int, full: int) -> bool:
    """Whether notify-pull over pages on disk reads fewer bytes than a full pass.

    The receivers are not known before they are notified; they are taken to be spread evenly over the pages.

    Args:
        notified: bytes of the pages along which changed vertices notify, without those in memory.
        receivers: vertices that are notified, at most.
        pages: pages of a full pass.
        full: bytes of a full pass, without the pages in memory.
    """
    missed = (1 - 1 / pages) ** receivers if pages > 1 else float(receivers == 0)
    return notified + (1 - missed) * full < full


def should_pull(costs: Costs | None, active: int, reached: int, edges: int) -> bool:
    """Whether a full pass over `edges` is cheaper than pushing from `active` vertices along `reached` edges.

    Published: active + reached > edges / 20 (Ligra).

    Args:
        costs: the costs of edges; None for the published rule.
        active: active vertices.
        reached: their edges.
        edges: edges of a full pass.
    """
    if costs is None:
        return _DENSE * (active + reached) > edges
    return reached * costs.pushed > edges * costs.pulled


def most_summed(costs: Costs | None, workers: int, n: int, edges: int) -> int:
    """The widest frontier, in edges and vertices, for which pushing sums by one worker is faster than a full pull.

    Each edge may lead to a different vertex, which then applies: about two random accesses for the fields that it reads
    and writes. Published: a twentieth of `edges` (Ligra).

    Args:
        costs: the costs of edges; None for the published rule.
        workers: threads of a full pull.
        n: vertices of the graph.
        edges: edges of a full pull.
    """
    if costs is None:
        return edges // _DENSE
    full, apply = (edges + n) * costs.pulled / workers, 2 * costs.row
    few = min(n, full / (costs.summed + apply))
    return int(max(few, (full - n * apply) / costs.summed))


def should_look(
    costs: Costs | None, looking: bool, n: int, edges: int, active: int, reached: int, left: int, left_edges: int,
) -> bool:
    """Whether unreached vertices look for the frontier among their neighbours, rather than that the frontier pushes.

    A vertex that looks reads its edges until one leads to the frontier, which has `reached` of all `edges`.
    Published: from reached > left_edges / 14 on, until active < n / 24 (Beamer et al.).

    Args:
        costs: the costs of edges; None for the published rule.
        looking: whether the previous superstep looked.
        n: vertices of the graph.
        edges: edges of the graph.
        active: vertices of the frontier.
        reached: edges of the frontier.
        left: unreached vertices.
        left_edges: edges of unreached vertices.
    """
    if costs is None:
        return _BETA * active > n if looking else _ALPHA * reached > left_edges
    share = reached / max(1, edges)
    looked = min(left_edges, left / share) if share else left_edges
    return left * costs.row + looked * costs.marked < active * costs.row + reached * costs.marked
