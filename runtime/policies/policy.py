"""A policy: the options by which this engine imitates a published system, and the parts that are not imitated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vlang.records import dataclass
from vlang.runtime.plan.plan import Plan

__all__ = ["Choice", "Policy", "joins_only", "listed_only", "shards_only"]


@dataclass(frozen=True)
class Choice:
    """The value that a policy gives to a research option.

    Attributes:
        option: the name of the option.
        value: its value, as stored in `Options`.
        why: the reason, and the section of the paper.
        defines: True if another value would make a different system; the caller may then not choose another value.
            False if a value of the caller replaces the value of the policy.
    """

    option: str
    value: Any
    why: str
    defines: bool = False


@dataclass(frozen=True)
class Policy:
    """A published system.

    Attributes:
        name: the value of the option `policy`.
        paper: the system, its authors, and the place of its publication.
        choices: the choices for each kind of device that the system has, "cpu" or "gpu".
        left_out: the parts of the paper that this engine does not implement, one phrase each.
        besides: the parts of this engine that are not in the paper but stay in use, one phrase each.
        models: whether the cost models of the paper (`vlang.runtime.policies.cost_models`) are compared with each run.
    """

    name: str
    paper: str
    choices: Mapping[str, tuple[Choice, ...]]
    left_out: tuple[str, ...] = ()
    besides: tuple[str, ...] = ()
    models: bool = False

    def refused(self, plan: Plan, device: str) -> str:
        """The reason why the policy cannot run a plan for a kind of device ("cpu", "gpu"); "" if it can."""
        return joins_only(plan)


def joins_only(plan: Plan) -> str:
    """The reason why a plan cannot run with kernels that only join two contributions at a time; "" if the plan can run.
    """
    for stage in plan.stages:
        if stage.structures:
            return f"pass {stage.name} needs all contributions of a vertex at once (rule R), and its kernels join " \
                   "them two by two"
    return ""


def shards_only(plan: Plan) -> str:
    """The reason why atomic operations in shared memory cannot join the contributions of a plan; "" if they can."""
    for stage in plan.stages:
        if stage.domain is not None and stage.gpu is not None and not stage.structures and not stage.gpu.cell:
            reason = stage.gpu.cell_reason or "no atomic operation joins its contributions"
            return f"pass {stage.name} cannot run by shards: {reason}"
    return joins_only(plan)


def listed_only(plan: Plan, deterministic: bool) -> str:
    """The reason why a plan cannot run over a list of edges in any order, without adjacency lists; "" if it can.

    Args:
        deterministic: whether the bits of the result must not depend on timing.
    """
    if "near:starts" in plan.slots:
        return "`common` intersects lists of neighbours, and a list of edges has none"
    for stage in plan.stages:
        if stage.domain is None or stage.gpu is None:
            continue
        if stage.pointer:
            return f"a pass gathers along `{stage.pointer}`, and a list of edges has no such rows"
        if any(name == "common()" for name, _ in stage.columns):
            return "`common` intersects lists of neighbours, and a list of edges has none"
        if deterministic and not stage.gpu.exact:
            return f"pass {stage.name} joins sums of floats by atomic operations, whose order depends on timing, and " \
                   "deterministic=True was asked for"
    return shards_only(plan).replace("by shards", "over a list of edges")
