"""The values `ray:N` and `ray://HOST:PORT` of the option `cluster`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from vlang.errors import BindError

__all__ = ["RayAddress", "is_ray", "ray_address"]


@dataclass(frozen=True)
class RayAddress:
    """Where Ray runs the ranks.

    Attributes:
        server: the address of a Ray cluster, `ray://HOST:PORT`. None stands for the cluster that this process finds or,
            if there is none, for a new cluster on this machine.
        ranks: the number of ranks; None for one rank on each machine of the cluster.
    """

    server: str | None
    ranks: int | None


def is_ray(cluster: object) -> bool:
    """Return whether the option `cluster` requests Ray."""
    return isinstance(cluster, str) and cluster.startswith("ray")


def ray_address(text: str) -> RayAddress:
    """Parse `ray:N`, `ray://HOST:PORT` or `ray://HOST:PORT/N`. Raises BindError for other texts."""
    found = re.fullmatch(r"ray:(?P<local>[0-9]+)|(?P<server>ray://[^/\s]+:[0-9]+)(/(?P<ranks>[0-9]+)?)?", text)
    number = None if found is None else found["local"] or found["ranks"]
    if found is None or (number is not None and not 1 <= int(number) <= 1 << 16):
        raise BindError(f"cluster={text!r}: write ray:N for N ranks, ray://HOST:PORT for one rank on each machine of a "
                        "Ray cluster, or ray://HOST:PORT/N for N ranks there")
    return RayAddress(found["server"], None if number is None else int(number))
