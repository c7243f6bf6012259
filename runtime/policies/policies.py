"""The table of policies. A policy sets the options that the caller did not set, or refuses contradicting options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from vlang.errors import BindError
from vlang.options import RESEARCH, Options, device_names
from vlang.runtime.engine.trace import Round
from vlang.runtime.plan.plan import LoopSpec, Plan
from vlang.runtime.policies.cost_models import MODELS, StreamedPages, expected_rounds, model_text
from vlang.runtime.policies.garaph import GARAPH
from vlang.runtime.policies.gts import GTS
from vlang.runtime.policies.hytgraph import HYTGRAPH
from vlang.runtime.policies.page_options import page_notes, page_refusal
from vlang.runtime.policies.policy import Choice, Policy, listed_only
from vlang.runtime.policies.wolfgraph import WOLFGRAPH
from vlang.runtime.policies.ws_vr import WS_VR

__all__ = ["POLICIES", "choices_of", "device_of", "policy_lines", "policy_notes", "refuse_policy", "with_models",
           "with_policy"]

_research = attrgetter(*RESEARCH)
_DEFAULTS = tuple(option.default for option in RESEARCH.values())

POLICIES: Mapping[str, Policy] = {policy.name: policy for policy in (GARAPH, GTS, WOLFGRAPH, WS_VR, HYTGRAPH)}
"""Every policy but "auto", which leaves all choices to the engine, by name."""


def with_policy(values: Mapping[str, Any]) -> dict[str, Any]:
    """Add the choices of the policy to the options of a call. Values that the caller gave are not replaced.

    Args:
        values: the options that the caller gave, by name, as stored in `Options`.

    Raises:
        BindError: the policy has no choices for the device, or a value of the caller contradicts a choice that defines
            the policy.
    """
    policy = POLICIES.get(values.get("policy") or "auto")
    if policy is None:
        return dict(values)
    filled = dict(values)
    for choice in _choices(policy, values.get("device") or "cpu"):
        given = filled.get(choice.option)
        if given is None:
            filled[choice.option] = choice.value
        elif choice.defines and given != choice.value:
            raise BindError(f"policy={policy.name!r} is {choice.option}={choice.value!r}: {choice.why}; leave out "
                            f"{choice.option}={given!r}, or the policy")
    return filled


def device_of(name: str) -> str:
    """The kind of device on which `vlang explain` shows a policy if none is named: "gpu", or "cpu" for "auto"."""
    return "gpu" if name in POLICIES else "cpu"


def refuse_policy(plan: Plan, options: Options) -> None:
    """Raise BindError if the policy cannot run the plan, or if no loop permits the requested updates in place."""
    reason = _refused(plan, options)
    if reason:
        raise BindError(f"policy={options.policy!r} cannot run {plan.name}: {reason}; choose another policy, or leave "
                        "it out")
    pages = page_refusal(plan, options, _policy_chose(options))
    if pages:
        raise BindError(pages)
    inexact = [stage.name for stage in plan.stages if stage.domain is not None and stage.gpu and not stage.gpu.exact]
    if options.dispatch != "gpu" and options.deterministic and inexact:
        raise BindError(f"dispatch={options.dispatch!r} cannot run {plan.name} with deterministic=True: pass "
                        f"{inexact[0]} adds floats, and the CPU adds them in another order than the GPU; leave one of "
                        "them out, or ask for dispatch=\"gpu\"")
    listed = listed_only(plan, options.deterministic) if options.kernel == "edge-list" else ""
    if listed:
        raise BindError(f"kernel='edge-list' cannot run {plan.name}: {listed}; choose another kernel, or leave it out")
    reasons = {loop.line: _synchronous(loop) for loop in plan.loops if not loop.nested} if options.asynchronous else {}
    if options.asynchronous and all(reasons.values()):
        loops = [f"line {line}: {reason}" for line, reason in reasons.items()]
        raise BindError(f"asynchronous=True: no loop of {plan.name} may run in place: "
                        f"{'; '.join(loops) or 'it has no loop of supersteps'}; leave it out")


def policy_notes(plan: Plan, options: Options) -> tuple[str, ...]:
    """Sentences about choices of a policy that a run follows only in part."""
    notes = []
    policy = POLICIES.get(options.policy)
    if policy is not None and policy.left_out:
        notes.append(f"policy {policy.name} is {policy.paper} without: {'; '.join(policy.left_out)}")
    if options.strategy != "auto" and len(device_names(options.device)) == 1:
        notes.append(f"strategy={options.strategy} is for several GPUs, and one GPU has all state")
    for loop in plan.loops if options.asynchronous else ():
        if not loop.nested and _synchronous(loop):
            notes.append(f"asynchronous: the loop in line {loop.line} does not run in place: {_synchronous(loop)}")
    return (*notes, *page_notes(plan, options))


def _policy_chose(options: Options) -> frozenset[str]:
    """The names of the options that have the value of the policy."""
    policy = POLICIES.get(options.policy)
    chosen = () if policy is None else policy.choices.get("cpu" if options.device == "cpu" else "gpu", ())
    return frozenset(choice.option for choice in chosen if getattr(options, choice.option) == choice.value)


def _synchronous(loop: LoopSpec) -> str:
    """The reason why a loop does not run in place although `asynchronous` requests this; "" if it runs in place."""
    if not loop.asynchronous:
        return loop.asynchronous_reason
    if any(stage.gpu is not None and stage.gpu.early == "frontier" for stage in loop.stages):
        return "on a GPU it stops at the first active neighbour, as all active vertices have the same value (rule X2)"
    return ""


def with_models(
    plan: Plan, options: Options, rounds: Callable[[], Sequence[Round]], streamed: Mapping[str, StreamedPages]
) -> tuple[Sequence[Round], str]:
    """The rounds with the seconds that the cost models of the policy expect, and a note on them; ((), "") if the policy
    has no models.

    Args:
        plan: the program.
        options: the options of the run.
        rounds: returns the history of the run.
        streamed: the pages that the run streamed to a GPU, by adjacency direction.
    """
    policy = POLICIES.get(options.policy)
    if policy is None or not policy.models:
        return (), ""
    found = expected_rounds(plan, rounds(), streamed)
    return found, model_text(found)


def choices_of(options: Options) -> dict[str, Any]:
    """The research options of a run that differ from their defaults, by name."""
    if _research(options) == _DEFAULTS:  # most runs: one comparison takes a twentieth of the time
        return {}
    return {name: value for name, option in RESEARCH.items() if (value := getattr(options, name)) != option.default}


def policy_lines(plan: Plan, options: Options) -> list[str]:
    """The lines about the policy in `vlang explain --stage plan`: its choices, and the choices of the caller."""
    from_caller = choices_of(options)
    policy = POLICIES.get(options.policy)
    if policy is None:
        return [f"policy auto, with {_shown(name, value)} by the caller" for name, value in from_caller.items()]
    lines = [f"policy {policy.name}: {policy.paper}"]
    for choice in _choices(policy, options.device):
        value = getattr(options, choice.option)
        from_caller.pop(choice.option, None)
        lines.append(f"    {_shown(choice.option, choice.value)}: {choice.why}" if value == choice.value else
                     f"    {_shown(choice.option, value)} by the caller, instead of {choice.value}: {choice.why}")
    lines += [f"    {_shown(name, value)} by the caller" for name, value in from_caller.items()]
    lines += [f"    not built here: {part}" for part in policy.left_out]
    lines += [f"    also in use: {part}" for part in policy.besides]
    lines += [f"    {line}" for line in MODELS] if policy.models else []
    reason = _refused(plan, options)
    return [*lines, f"    cannot run this program: {reason}"] if reason else lines


def _refused(plan: Plan, options: Options) -> str:
    policy = POLICIES.get(options.policy)
    if policy is None:
        return ""
    listed = listed_only(plan, options.deterministic) if options.kernel == "edge-list" else ""
    return listed or policy.refused(plan, "cpu" if options.device == "cpu" else "gpu")


def _choices(policy: Policy, device: str) -> tuple[Choice, ...]:
    """The choices of a policy for a device. Raises BindError if the policy has none for this device."""
    kind = "auto" if device == "auto" else "cpu" if device == "cpu" else "gpu"
    found = policy.choices.get(kind)
    if found is None:
        able = " or ".join(f'device="{one}"' for one in policy.choices)
        raise BindError(f"policy={policy.name!r} runs on a {'device that is named' if kind == 'auto' else 'GPU'}: ask "
                        f"for {able} as well, or leave the policy out")
    return found


def _shown(name: str, value: Any) -> str:
    text = ",".join(sorted(value)) if isinstance(value, frozenset) else str(value)
    return f"{name}={text}"
