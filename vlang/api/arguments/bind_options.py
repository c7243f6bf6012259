"""Finds the options of a run among the arguments of a call, reads each option by the rule for its kind, and checks the
options.

Parameters and fields of the program take precedence over options: an option with the same name as a parameter or field
must be given in `options`. Any other argument is an everyday option, the dict `research` or the argument `options`.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from vlang.api.arguments.option_values import READERS
from vlang.errors import BindError
from vlang.options import EVERYDAY, OPTIONS, RENAMED, RESEARCH, Option, Options
from vlang.runtime.cluster.job.ray_address import is_ray
from vlang.runtime.policies.policies import with_policy

if TYPE_CHECKING:
    from vlang.api.program import Program

__all__ = ["bind_options", "check_options", "options_by_name", "read_option", "shadowed_note"]

_ALWAYS = {"threads", "precision", "progress"}  # options that fit every other option
_DOORS = ("options", "research")
_PLAIN = frozenset({int, bool, type(None)})  # types of values that mean the same in every call; a path may not
_MOST_SEEN = 64
_seen: dict[tuple[tuple[str, type, Any], ...], Options] = {}


def bind_options(
    program: Program, arguments: Mapping[str, Any], options: Options | Mapping[str, Any] | None = None
) -> tuple[Options, dict[str, Any]]:
    """Return the options of a call, and the remaining arguments: parameters and fields of the program.

    Args:
        program: the program, with names of parameters and fields that take precedence over names of options.
        arguments: the keywords of the call. Everyday options and `research` override `options`.
        options: all options at once, if they were passed by position; else the keyword `options` is used.

    Raises BindError for an unknown argument, and for wrong or conflicting options.
    """
    own = _own_names(program)
    rest = {name: value for name, value in arguments.items() if name in own}
    loose = {name: value for name, value in arguments.items() if name not in own}
    if "options" in loose:
        if options is not None:
            raise BindError("options are given twice: by position and as a keyword")
        options = loose.pop("options")
    given = options_by_name(options)
    research = _named("research", loose.pop("research", None), RESEARCH)
    for name in loose:
        if name not in EVERYDAY:
            raise BindError(_unknown(program, own, name, loose[name]))
    return check_options({**given, **research, **loose}), rest


def check_options(given: Mapping[str, Any]) -> Options:
    """Read options given by name, and check them against each other. Raises BindError.

    The result for the same options is cached, since reading options takes as long as a superstep on a small graph.
    """
    key = tuple((name, type(value), value) for name, value in given.items())
    if not all(kind in _PLAIN for _, kind, _ in key):
        return _checked(given)
    known = _seen.get(key)
    if known is None:
        if len(_seen) >= _MOST_SEEN:
            _seen.clear()
        known = _seen[key] = _checked(given)
    return known


def _checked(given: Mapping[str, Any]) -> Options:
    values = with_policy({name: read_option(name, value) for name, value in given.items()})
    if values.get("kernel") == "edge-list" and values.get("mode") is None:
        values["mode"] = "pull"
    named = {name: value for name, value in values.items() if value is not None}
    options = Options(**named)
    _fitting(options, named)
    return options


def read_option(name: str, value: Any) -> Any:
    """The value of one option as stored in `Options`; None means the default. Raises BindError."""
    option = OPTIONS[name]
    return None if value is None else READERS[option.kind](option, value)


def shadowed_note(program: Program) -> str:
    """Return a line that lists the options hidden by names of the program; "" if no option is hidden."""
    taken = [name for name in (*EVERYDAY, *_DOORS) if name in _own_names(program)]
    if not taken:
        return ""
    names = ", ".join(f"`{name}`" for name in taken)
    call = f"{program.name}(graph, vlang.Options(...), ...)" if "options" in taken else "options={...}"
    return (f"{names}: as {'a keyword this is' if len(taken) == 1 else 'keywords these are'} the program's own; run "
            f"options of {'this name' if len(taken) == 1 else 'these names'} are given in {call}")


def _own_names(program: Program) -> Collection[str]:
    return [*(p.name for p in program.params), *(f.name for f in program.fields)]


def options_by_name(options: Options | Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The options of `options=...`, by name.

    The result for an `Options` object has only the options that differ from their defaults.

    Raises BindError for a wrong type or an unknown name.
    """
    if isinstance(options, Options):
        values = {spec.name: getattr(options, spec.name) for spec in fields(options)}
        return {name: value for name, value in values.items() if value != OPTIONS[name].default}
    return _named("options", options, OPTIONS)


def _named(door: str, given: Any, known: Mapping[str, Option]) -> Mapping[str, Any]:
    """The items of `options={...}` or `research={...}`, by name. Raises BindError for an unknown name.

    Args:
        door: the keyword, "options" or "research".
        known: the options that are allowed in this keyword.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        kinds = "vlang.Options or a dict" if door == "options" else "a dict"
        raise BindError(f"{door} is {kinds} of names and values, such as {_EXAMPLES[door]}, not {given!r}")
    for name in given:
        if name in known:
            continue
        if door == "research" and name in EVERYDAY:
            raise BindError(f"{name} is no research option: write {name}={given[name]!r} outside of research")
        if name in RENAMED:
            raise BindError(f"{door}: {name} is called {RENAMED[name]} now")
        near = difflib.get_close_matches(str(name), known, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
        raise BindError(f"{door}: there is no option {name!r}; {hint}")
    return given


_EXAMPLES = {"options": '{"threads": 2}', "research": '{"mode": "pull"}'}


def _unknown(program: Program, own: Collection[str], name: str, value: Any) -> str:
    """The error for an argument that is no parameter, field or everyday option; the text proposes a similar name."""
    today = RENAMED.get(name, name)
    if today in RESEARCH:
        return f"{name} is a research option: write research={{\"{today}\": {value!r}}}"
    if today != name:
        return f"the option {name} is called {today} now: write {today}={value!r}"
    near = difflib.get_close_matches(name, [*own, *EVERYDAY, *_DOORS], 1)
    have = ", ".join(p.name for p in program.params) or "none"
    hint = f"; did you mean `{near[0]}`?" if near else f"; its parameters: {have}"
    return f"{program.name} has no parameter, field or run option `{name}`{hint}"


# --------------------------------------------------------------------------------------------- conflicting options


def _fitting(options: Options, named: Mapping[str, Any]) -> None:
    """Refuse options that the device does not support, and options that exclude each other.

    Options that are not in `named` have default values.
    """
    if named.keys() <= _ALWAYS:
        return
    for name in named:
        option = OPTIONS[name]
        if getattr(options, name) == option.default:
            continue
        if option.devices == "cpu" and options.device != "cpu":
            raise BindError(f"{name} is for runs on the CPU; leave out the device, or {name}")
        if option.devices == "gpu" and options.device == "cpu":
            raise BindError(f"{name} is for runs on a GPU, and this one is on the CPU; ask for device=\"gpu\" as well, "
                            "or leave it out")
    if options.mode != "auto":
        _check_mode(options)
    if options.kernel == "edge-list" and options.mode != "pull":
        raise BindError(f"kernel='edge-list' reads all edges in every superstep, as mode=\"pull\" does; leave out "
                        f"mode={options.mode!r}, or the kernel")
    if options.kernel == "edge-list" and options.dispatch != "gpu":
        raise BindError(f"dispatch={options.dispatch!r} shares pages of adjacency lists, and kernel='edge-list' reads "
                        "a list of edges; leave one of them out")
    if options.switching != "measured" and options.mode not in ("auto", "dual") and options.device == "cpu":
        raise BindError("switching says how mode=\"auto\" goes from one way to another; leave it out, or the mode")
    if options.every is not None and options.checkpoint is None:
        raise BindError("every says how often a checkpoint is written; give checkpoint=FOLDER as well, or leave it out")
    started = isinstance(options.cluster, int) or is_ray(options.cluster)
    if options.restarts is not None and (options.checkpoint is None or not started):
        raise BindError("restarts goes on from the last checkpoint of several ranks: give cluster=N or "
                        "cluster=\"ray:N\", and checkpoint=FOLDER, or leave it out")
    if options.chaos is not None and (options.checkpoint is not None or options.on_interrupt != "stop"):
        raise BindError("chaos runs a program twice and compares, so it keeps no checkpoints and no partial result; "
                        "leave one of them out")
    if options.target is not None:
        _at_target(options)
    if options.schedule == "priority":
        _by_priority(options)


def _at_target(options: Options) -> None:
    """Refuse options that conflict with a target: only a loop in priority order can stop at a target."""
    asked = {"schedule=\"rounds\"": options.schedule == "rounds", "max_rounds": options.max_rounds is not None,
             f"mode={options.mode!r}": options.mode != "auto", "asynchronous=True": options.asynchronous,
             "blocking=\"always\"": options.blocking == "always"}
    if options.chaos is not None:
        raise BindError("chaos compares whole results, and one that stops at a target is none; leave one of them out")
    for name, given in asked.items():
        if given:
            raise BindError(f"{name} says how supersteps run, and a loop that stops at a target runs in order of "
                            "priority; leave one of them out")


def _by_priority(options: Options) -> None:
    """Refuse options that conflict with schedule="priority"."""
    if options.device != "cpu":
        raise BindError("schedule=\"priority\" is for runs on the CPU; a GPU goes by priority where that "
                        "pays; leave it out")
    if options.max_rounds is not None:
        raise BindError("max_rounds counts supersteps, and schedule=\"priority\" has none; ask for "
                        "schedule=\"rounds\", or leave max_rounds out")
    if options.mode != "auto" or options.asynchronous:
        asked = f"mode={options.mode!r}" if options.mode != "auto" else "asynchronous=True"
        raise BindError(f"{asked} says how supersteps run, and schedule=\"priority\" has none; leave one of them out")


def _check_mode(options: Options) -> None:
    """Raise BindError if the device cannot run loops in the requested `mode`."""
    from vlang.runtime.cpu.ways.ways import modes  # start-up
    from vlang.runtime.gpu.ways.ways import modes as gpu_modes  # start-up

    if options.device != "auto":
        where, known = ("the CPU", modes()) if options.device == "cpu" else ("a GPU", gpu_modes())
        if options.mode not in known:
            raise BindError(f"no way of {where} has mode={options.mode!r}; choose one of {', '.join(known)}")
