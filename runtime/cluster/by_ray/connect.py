"""Joins a Ray cluster, or starts Ray on this machine. Then starts actors in the cluster."""

from __future__ import annotations

import json
import os
import secrets
import time
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import vlang
from vlang.errors import BindError, ClusterError
from vlang.runtime.cluster.job.ray_address import RayAddress, ray_address

__all__ = ["INSTALL", "Actors", "actors_of", "end_actors", "rank_count"]

INSTALL = "pip install 'vlang[ray]'"
_START = 120.0  # seconds within which all actors must have started
_ROOM = 256  # the number of processors with which Ray is started here, so that later calls may use more ranks

_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "RAY_DEDUP_LOGS": "0",
          "RAY_prestart_worker_first_driver": "0"}
"""Variables of a Ray that is started here: it sends no statistics, and starts no more processes than ranks."""


class Actors:
    """The actors of a job.

    Attributes:
        ray: the module `ray`.
        where: the value of the option `cluster` for which the actors were started.
        gpus: the number of GPUs of each actor.
        handles: the actors in the order of the ranks.
        attempts: the number of runs that these actors have begun.
    """

    def __init__(self, ray: Any, where: str, gpus: int, handles: list[Any]) -> None:
        self.ray, self.where, self.gpus, self.handles, self.attempts = ray, where, gpus, handles, 0

    def machines(self) -> list[str]:
        """Wait until all actors have started; returns the name of each actor's machine.

        Raises ClusterError if Ray does not start the actors in time, or if a machine has another version of vlang.
        """
        end, found = time.monotonic() + _START, list[dict[str, Any]]()
        while len(found) < len(self.handles):
            try:
                asked = self.handles[len(found)].about.remote()
                found.append(json.loads(self.ray.get(asked, timeout=max(0.0, end - time.monotonic()))))
            except self.ray.exceptions.ActorUnavailableError as error:  # Ray starts a lost actor again
                if time.monotonic() > end:
                    raise self._not_started(error) from None
                time.sleep(0.1)
            except self.ray.exceptions.RayError as error:
                raise self._not_started(error) from None
        for rank, one in enumerate(found):
            if one["version"] != vlang.__version__:
                raise ClusterError(f"the machine of rank {rank} has vlang {one['version']}, and this one has "
                                   f"{vlang.__version__}: install the same version on all machines of the Ray cluster")
        return [one["machine"] for one in found]

    def _not_started(self, error: BaseException) -> ClusterError:
        free = int(self.ray.available_resources().get("CPU", 0))
        return ClusterError(f"Ray has not started {len(self.handles)} ranks within {_START:g} s, and has {free} free "
                            f"processors: {_first_line(error)}")


_KEPT: list[Actors] = []  # the actors of the last call, for the next one with the same option
_SERVERS: list[str] = []  # the `ray://HOST:PORT` that this process has joined


def actors_of(where: str, gpus: int, module: str) -> Actors:
    """Return the actors for an option `cluster`, from the last call or newly started, with `gpus` (0 or 1) GPUs each.

    The actors are objects of the class `RankActor` in `module`.

    Raises BindError for an option that cannot be used, and ClusterError if Ray is missing or the cluster has too few
    processors.
    """
    if _KEPT and (_KEPT[0].where, _KEPT[0].gpus) == (where, gpus) and _KEPT[0].ray.is_initialized():
        return _KEPT[0]
    end_actors()
    ray, address = _joined(where), ray_address(where)
    nodes = _nodes(ray)
    ranks, room = address.ranks or len(nodes), int(sum(nodes.values()))
    if ranks > room:
        raise ClusterError(f"cluster={where!r} needs a processor for each rank, and the Ray cluster has {room}")
    job, kind = f"vlang-{secrets.token_hex(8)}", ray.remote(import_module(module).RankActor)
    handles = []
    for rank in range(ranks):
        place: Any = "SPREAD"
        if address.ranks is None:
            place = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(list(nodes)[rank], soft=True)
        # Four threads: for the run, for messages, and for the two questions of the driver.
        handles.append(kind.options(name=f"{job}-{rank}", num_cpus=1, num_gpus=gpus, max_concurrency=4,
                                    max_restarts=-1, scheduling_strategy=place).remote(rank, job))
    _KEPT.append(Actors(ray, where, gpus, handles))
    return _KEPT[0]


def end_actors() -> None:
    """End the actors of the last call."""
    while _KEPT:
        old = _KEPT.pop()
        if old.ray.is_initialized():
            for one in old.handles:
                old.ray.kill(one)


def rank_count(where: str) -> int:
    """Return the number of ranks of an option `cluster`. If necessary, joins the Ray cluster to count its machines."""
    return ray_address(where).ranks or len(_nodes(_joined(where)))


def _nodes(ray: Any) -> dict[str, float]:
    """Return the number of processors of each machine with at least one processor, by node ID."""
    return {node["NodeID"]: node["Resources"]["CPU"] for node in ray.nodes()
            if node["Alive"] and node["Resources"].get("CPU", 0) >= 1}


def _joined(where: str) -> Any:
    """Join the Ray cluster of an option `cluster`; returns the module `ray`."""
    spec = find_spec("ray")
    if spec is None or spec.origin is None:  # a folder named `ray`, such as /tmp/ray, is no module
        raise ClusterError(f"cluster={where!r} needs Ray, which is not installed: {INSTALL}")
    address = ray_address(where)
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    import ray  # optional
    import ray.util.scheduling_strategies  # optional

    module: Any = ray
    if module.is_initialized():
        if address.server is not None and address.server not in _SERVERS[-1:]:
            raise BindError(f"cluster={where!r}: this process has joined a Ray cluster already; write ray:N to run "
                            "there")
        return module
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        if address.server is not None:
            module.init(address.server, **quiet)
            _SERVERS.append(address.server)
        else:
            _init_here(module, address, quiet)
    except Exception as error:  # Ray raises the class itself if a machine does not start in time
        raise ClusterError(f"cluster={where!r}: Ray does not answer: {_first_line(error)}. Set RAY_AUTH_MODE and "
                           "RAY_AUTH_TOKEN if the Ray cluster asks for a token") from None
    return module


def _init_here(ray: Any, address: RayAddress, quiet: dict[str, Any]) -> None:
    """Join the Ray cluster of RAY_ADDRESS or of this machine, or start a new Ray cluster on this machine."""
    try:
        ray.init("auto", **quiet)
    except ConnectionError:
        if os.environ.get("RAY_ADDRESS"):
            raise
        ray.init("local", num_cpus=max(address.ranks or 1, _ROOM), include_dashboard=False, **quiet)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
