"""The options of a run, among the arguments of a call: each read by its own rule, then held against each other."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from vlang.errors import BindError
from vlang.ir.switches import OPTIMISATIONS
from vlang.options import GPU_OPTIONS, parse_size
from vlang.runtime.engine.machine import Options

if TYPE_CHECKING:
    from vlang.api.program import Program

__all__ = ["bind_options", "check_options", "read_option"]

_MOST_STREAMS = 32


def bind_options(program: Program, arguments: dict[str, Any]) -> tuple[Options, int | None, dict[str, Any]]:
    """The run options among the arguments, the precision asked for, and the other arguments. Raises BindError."""
    readers = set(_READERS) - ({"target"} & {field.name for field in program.fields})  # such a field came first
    given = {name: arguments[name] for name in _READERS if name in arguments and name in readers}
    rest = {name: value for name, value in arguments.items() if name not in readers}
    _known(program, rest)
    precision = read_option("precision", given.pop("precision", None))
    return check_options(given), precision, rest


def check_options(given: Mapping[str, Any]) -> Options:
    """Options by name, read and held against each other. Raises BindError."""
    values = {name: read_option(name, value) for name, value in given.items()}
    options = Options(**{name: value for name, value in values.items() if value is not None})
    _fitting(options)
    return options


def read_option(name: str, value: Any) -> Any:
    """The value of one option as `Options` has it; None stands for the default. Raises BindError."""
    return _READERS[name](name, value)


def _known(program: Program, arguments: dict[str, Any]) -> None:
    names = [p.name for p in program.params] + [i.name for i in program.fields]
    for name in arguments:
        if name not in names:
            near = difflib.get_close_matches(name, [*names, *_READERS], 1)
            have = ", ".join(p.name for p in program.params) or "none"
            hint = f"; did you mean `{near[0]}`?" if near else f"; its parameters: {have}"
            raise BindError(f"{program.name} has no parameter, field or run option `{name}`{hint}")


def _fitting(options: Options) -> None:
    """What one processor has, the other has not, and what excludes each other."""
    if options.switching != "measured" and (options.mode != "auto" or options.device != "cpu"):
        raise BindError("switching says how mode=\"auto\" goes from one way to another on the CPU; leave it out, or "
                        f"the {'device' if options.device != 'cpu' else 'mode'}")
    if options.target is not None:
        _at_target(options)
    if options.order == "priority":
        _by_priority(options)
    if options.device != "cpu":
        if options.chaos is not None:
            raise BindError("chaos is for runs on the CPU; leave out the device, or chaos")
        return
    defaults = {spec.name: spec.default for spec in fields(Options)}
    for name in GPU_OPTIONS:
        if getattr(options, name) != defaults[name]:
            raise BindError(f"{name} is for runs on a GPU, and this one is on the CPU; ask for device=\"gpu\" as well, "
                            "or leave it out")


def _at_target(options: Options) -> None:
    """What cannot be asked for together with a target, at which only a loop in order of priority can stop."""
    asked = {"order=\"rounds\"": options.order == "rounds", "max_rounds": options.max_rounds is not None,
             f"mode={options.mode!r}": options.mode != "auto", "asynchronous=True": options.asynchronous,
             "blocking=\"always\"": options.blocking == "always"}
    if options.device != "cpu":
        raise BindError("target is for runs on the CPU; leave out the device, or the target")
    if options.chaos is not None:
        raise BindError("chaos compares whole results, and one that stops at a target is none; leave one of them out")
    for name, given in asked.items():
        if given:
            raise BindError(f"{name} says how supersteps run, and a loop that stops at a target runs in order of "
                            "priority; leave one of them out")


def _by_priority(options: Options) -> None:
    """What cannot be asked for together with order="priority"."""
    if options.device != "cpu":
        raise BindError("order=\"priority\" is for runs on the CPU; a GPU goes by priority where that "
                        "pays; leave it out")
    if options.max_rounds is not None:
        raise BindError("max_rounds counts supersteps, and order=\"priority\" has none; ask for order=\"rounds\", or "
                        "leave max_rounds out")
    if options.mode != "auto" or options.asynchronous:
        asked = f"mode={options.mode!r}" if options.mode != "auto" else "asynchronous=True"
        raise BindError(f"{asked} says how supersteps run, and order=\"priority\" has none; leave one of them out")


def _one_of(*choices: Any) -> Callable[[str, Any], Any]:
    def read(name: str, value: Any) -> Any:
        if value not in choices:
            raise BindError(f"{name} is one of {', '.join(map(repr, choices))}, not {value!r}{_meant(value, choices)}")
        return value

    return read


def _mode(name: str, value: Any) -> str:
    if value == "auto":
        return "auto"
    from vlang.runtime.cpu.ways.ways import modes  # start-up

    return str(_one_of(*modes())(name, value))


def _meant(value: Any, choices: tuple[Any, ...]) -> str:
    near = difflib.get_close_matches(value, [c for c in choices if isinstance(c, str)], 1) \
        if isinstance(value, str) else []
    return f"; did you mean {near[0]!r}?" if near else ""


def _whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _from(least: int) -> Callable[[str, Any], int | None]:
    def read(name: str, value: Any) -> int | None:
        if value is not None and (not _whole(value) or value < least):
            raise BindError(f"{name} is a whole number from {least} on, not {value!r}")
        return None if value is None else int(value)

    return read


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise BindError(f"{name} is True or False, not {value!r}")
    return bool(value)


def _precision(name: str, value: Any) -> int | None:
    if value not in (None, 32, 64):
        raise BindError(f"{name} is 32 or 64 bits, not {value!r}")
    return None if value is None else int(value)


def _progress(name: str, value: Any) -> Any:
    if value is True:
        from vlang.api.progress import print_round  # start-up

        return print_round
    if not value:
        return None
    if not callable(value):
        raise BindError(f"{name} is True, False or a function that takes a Round, not {value!r}")
    return value


def _device(_name: str, value: Any) -> str:
    from vlang.runtime.gpu.device.choose import parse_device  # start-up

    parse_device(value)
    return str(value)


def _bytes(name: str, value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, str):
        try:
            return parse_size(value)
        except ValueError as error:
            raise BindError(f"{name}: {error}") from None
    if not _whole(value) or value < 1:
        raise BindError(f"{name} is a number of bytes or a size such as \"8G\", not {value!r}")
    return int(value)


def _streams(name: str, value: Any) -> int:
    if value == "auto" or (value == 0 and _whole(value)):  # 0 is how Options says it
        return 0
    number = int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value
    if not _whole(number) or not 1 <= number <= _MOST_STREAMS:
        raise BindError(f"{name} is 'auto' or a number from 1 to {_MOST_STREAMS}, not {value!r}")
    return int(number)


def _kernel(name: str, value: Any) -> str:
    if value == "auto":
        return "auto"
    from vlang.runtime.gpu.kernels.choose_kernel import NAMES  # start-up

    return str(_one_of(*NAMES)(name, value))


def _replication(_name: str, value: Any) -> str | int:
    if value == "auto":
        return "auto"
    from vlang.runtime.gpu.kernels.replication import check_replication  # start-up

    return check_replication(value)


def _without(name: str, value: Any) -> frozenset[str]:
    """Names of optimisations: a text with commas, or several texts."""
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, (list, tuple, set, frozenset)) or not all(isinstance(one, str) for one in names):
        raise BindError(f"{name} is names of optimisations, such as \"hoist,merge\", not {value!r}")
    found = frozenset(one.strip() for one in names) - {""}
    for one in sorted(found - set(OPTIMISATIONS)):
        raise BindError(f"{name}: there is no optimisation {one!r}{_meant(one, tuple(OPTIMISATIONS))}; there are "
                        f"{', '.join(OPTIMISATIONS)}")
    return found


_READERS: Mapping[str, Callable[[str, Any], Any]] = {
    "max_rounds": _from(0), "threads": _from(1), "page_size": _from(1), "precision": _precision,
    "mode": _mode, "blocking": _one_of("auto", "always", "never"),
    "switching": _one_of("measured", "published"),
    "order": _one_of("auto", "rounds", "priority"), "target": _from(0),
    "asynchronous": _flag, "progress": _progress, "device": _device, "gpu_memory": _bytes, "streams": _streams,
    "kernel": _kernel, "replication": _replication, "transfer": _one_of("auto", "pages", "direct"),
    "deterministic": _flag, "device_arrays": _flag,
    "chaos": _from(0), "without": _without,
}  # fmt: skip
