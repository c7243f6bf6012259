"""Reads the value of an option by the rule for this kind of option."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from vlang.errors import BindError
from vlang.ir.switches import OPTIMISATIONS
from vlang.options import MOST_BYTES, Option, parse_seconds, parse_size
from vlang.runtime.cluster.job.ray_address import is_ray, ray_address

__all__ = ["READERS", "option_choices"]

_MOST_STREAMS = 32
_MOST_RANKS = 1 << 16


def option_choices(option: Option) -> tuple[str, ...]:
    """Return the values that an option accepts, as texts; () if the values cannot be listed."""
    if option.kind == "kernel":
        return _kernel_names()
    if option.kind == "names":
        return tuple(OPTIMISATIONS)
    return {"flag": ("true", "false"), "device": ("cpu", "gpu", "auto"), "streams": ("auto",),
            "replication": ("auto", "none", "garaph"), "dispatch": ("gpu", "alpha"),
            "layout": ("csr", "slotted")}.get(option.kind, option.choices)


def _mode(option: Option, value: Any) -> str:
    from vlang.runtime.cpu.ways.ways import modes  # start-up
    from vlang.runtime.gpu.ways.ways import modes as gpu_modes  # start-up

    return "auto" if value == "auto" else _one_of(option.name, value, tuple(dict.fromkeys((*modes(), *gpu_modes()))))


def _meant(value: Any, choices: Collection[str]) -> str:
    near = difflib.get_close_matches(value, choices, 1) if isinstance(value, str) else []
    return f"; did you mean {near[0]!r}?" if near else ""


def _one_of(name: str, value: Any, choices: Collection[str]) -> str:
    if not (isinstance(value, str) and value in choices):
        raise BindError(f"{name} is one of {', '.join(map(repr, choices))}, not {value!r}{_meant(value, choices)}")
    return value


def _choice(option: Option, value: Any) -> str:
    return _one_of(option.name, value, option.choices)


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _whole(option: Option, value: Any) -> int:
    if not _is_whole(value) or value < option.least:
        raise BindError(f"{option.name} is a whole number from {option.least} on, not {value!r}")
    return int(value)


def _flag(option: Option, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise BindError(f"{option.name} is True or False, not {value!r}")
    return bool(value)


def _precision(option: Option, value: Any) -> int:
    if value not in (32, 64):
        raise BindError(f"{option.name} is 32 or 64 bits, not {value!r}")
    return int(value)


def _derive(option: Option, value: Any) -> str:
    if value != "delta":
        raise BindError(f"{option.name} is 'delta' or None, not {value!r}")
    return "delta"


def _progress(option: Option, value: Any) -> Any:
    if value is True:
        return True
    if not value:
        return None
    if not callable(value):
        raise BindError(f"{option.name} is True, False or a function that takes a Round, not {value!r}")
    return value


def _device(_option: Option, value: Any) -> str:
    from vlang.runtime.gpu.device.choose import check_names  # start-up

    check_names(value)
    return str(value)


def _size(option: Option, value: Any) -> int:
    if isinstance(value, str):
        try:
            return parse_size(value)
        except ValueError as error:
            raise BindError(f"{option.name}: {error}") from None
    if not _is_whole(value) or not 1 <= value < MOST_BYTES:
        raise BindError(f"{option.name} is a number of bytes or a size such as \"8G\", not {value!r}")
    return int(value)


def _room(option: Option, value: Any) -> int:
    return 0 if value == "0" or (_is_whole(value) and value == 0) else _size(option, value)


def _cluster(option: Option, value: Any) -> int | str:
    if value == "mpi":
        return "mpi"
    number = int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value
    if is_ray(value):
        ray_address(value)
        return str(value)
    if not _is_whole(number) or not 1 <= number <= _MOST_RANKS:
        raise BindError(f"{option.name} is a number of ranks from 1 to {_MOST_RANKS:,}, \"mpi\", \"ray:N\" or "
                        f"\"ray://HOST:PORT\", not {value!r}")
    return int(number)


def _path(option: Option, value: Any) -> str:
    path = os.fspath(value) if isinstance(value, (str, os.PathLike)) else None
    what = "folder" if option.kind == "path" else "file"
    if not isinstance(path, str) or not path or "\0" in path or not _is_text(path):
        raise BindError(f"{option.name} is the path of a {what}, not {value!r}")
    if "://" in path:
        raise BindError(f"{option.name} is the path of a {what} on this machine, and {path} is a URL")
    return path


def _trace(option: Option, value: Any) -> str:
    from vlang.runtime.engine.recorder import check_trace  # start-up

    path = _path(option, value)
    check_trace(path)
    return path


def _is_text(path: str) -> bool:
    """Return whether the characters of a path can be encoded in the encoding of the file system."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return True


def _seconds(option: Option, value: Any) -> float:
    if isinstance(value, str):
        try:
            return parse_seconds(value)
        except ValueError as error:
            raise BindError(f"{option.name}: {error}") from None
    plain = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not plain or not 0 <= value < 1e9:
        raise BindError(f"{option.name} is a number of seconds or a time such as \"30s\", not {value!r}")
    return float(value)


def _notices(option: Option, value: Any) -> Any:
    if value is True:
        from vlang.api.running.checkpoints import print_line  # start-up

        return print_line
    if not value:
        return None
    if not callable(value):
        raise BindError(f"{option.name} is True, False or a function that takes a text, not {value!r}")
    return value


def _streams(option: Option, value: Any) -> int:
    if value == "auto" or (value == 0 and _is_whole(value)):  # Options stores "auto" as 0
        return 0
    number = int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value
    if not _is_whole(number) or not 1 <= number <= _MOST_STREAMS:
        raise BindError(f"{option.name} is 'auto' or a number from 1 to {_MOST_STREAMS}, not {value!r}")
    return int(number)


def _kernel_names() -> tuple[str, ...]:
    from vlang.runtime.gpu.kernels.choose_kernel import NAMES  # start-up

    return NAMES


def _kernel(option: Option, value: Any) -> str:
    return "auto" if value == "auto" else _one_of(option.name, value, _kernel_names())


def _replication(_option: Option, value: Any) -> str | int:
    if value == "auto":
        return "auto"
    from vlang.runtime.gpu.kernels.replication import check_replication  # start-up

    return check_replication(value)


def _dispatch(option: Option, value: Any) -> str:
    if value in ("gpu", "alpha"):
        return str(value)
    pages = re.fullmatch(r"(\d{1,9})/(\d{1,9})", value) if isinstance(value, str) else None
    if pages is None or not int(pages[1]) <= int(pages[2]) > 0:
        raise BindError(f"{option.name} is 'gpu', 'alpha', or the share of the pages that the CPU takes, such as "
                        f"'8/32', not {value!r}")
    return pages[0]


def _layout(_option: Option, value: Any) -> str:
    if value != "csr":
        from vlang.runtime.graph.topology.slotted import record_ids  # start-up

        record_ids(value)
    return str(value)


def _names(option: Option, value: Any) -> frozenset[str]:
    """Read names of optimisations from one text with commas between the names, or from a collection of texts."""
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, (list, tuple, set, frozenset)) or not all(isinstance(one, str) for one in names):
        raise BindError(f"{option.name} is names of optimisations, such as \"hoist,merge\", not {value!r}")
    found = frozenset(one.strip() for one in names) - {""}
    for one in sorted(found - set(OPTIMISATIONS)):
        raise BindError(f"{option.name}: there is no optimisation {one!r}{_meant(one, OPTIMISATIONS)}; there are "
                        f"{', '.join(OPTIMISATIONS)}")
    return found


READERS: Mapping[str, Callable[[Option, Any], Any]] = {
    "whole": _whole, "flag": _flag, "choice": _choice, "mode": _mode, "size": _size, "room": _room, "names": _names,
    "vertex": lambda _option, value: value, "device": _device, "precision": _precision, "progress": _progress,
    "path": _path, "trace": _trace, "cluster": _cluster, "seconds": _seconds, "notices": _notices,
    "derive": _derive, "streams": _streams, "kernel": _kernel, "replication": _replication,
    "dispatch": _dispatch, "layout": _layout,
}  # fmt: skip
