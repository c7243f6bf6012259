"""Runs a bound call on actors of Ray. If an actor is lost, the call starts again from the last checkpoint of all ranks.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

from vlang.errors import ClusterError, DiskError
from vlang.options import Options
from vlang.runtime.cluster.by_ray.connect import Actors, actors_of, end_actors
from vlang.runtime.cluster.job.form import Form, packed_form, unpacked_form
from vlang.runtime.cluster.job.rank_error import first_error
from vlang.runtime.cluster.job.shared_file import stamp_of

__all__ = ["ran_by_ray"]

_POLL = 0.1  # seconds between two looks at the actors
_GRACE = 1.0  # seconds for which the other ranks may go on after a rank has failed or was lost
_PART = 1 << 26  # bytes of a page file that are sent at once
_BUSY = threading.Lock()  # the actors of a process run one call at a time


def ran_by_ray(form: Form, options: Options, module: str) -> Form:
    """Run a call on the ranks of the option `cluster`; returns the form of its outcome.

    `module` has the class `RankActor`, whose objects are the ranks.

    Raises the error of the rank that failed, ClusterError if a rank was lost, and BindError for wrong options.
    """
    with _BUSY:
        actors = actors_of(str(options.cluster), int(options.device != "cpu"), module)
        try:
            found = _attempts(actors, form, options)
        except BaseException:  # a rank may still compute, or may be lost again and again
            end_actors()
            raise
    error = first_error(one for one, _ in found if "class" in one)
    if error is not None:
        raise error
    return found[0]


def _attempts(actors: Actors, form: Form, options: Options) -> list[Form]:
    """Run a call until no rank is lost, with a limited number of restarts; returns the forms of the ranks."""
    call, restarts = packed_form(*form), options.restarts or 0
    for restart in range(restarts + 1):
        try:
            machines = actors.machines()
            paths = _page_files(actors, machines, form[0]["graph"], options)
            found, lost = _attempt(actors, call, machines, paths, options)
        except actors.ray.exceptions.RayError:
            found, lost = [], "a rank"
        error = first_error(one for one, _ in found if "class" in one)
        if not lost or not (error is None or isinstance(error, ClusterError)):
            return found
        if restart < restarts and options.notices is not None:
            options.notices(f"{lost} was lost: restart {restart + 1} of {restarts}, from the last checkpoint of all "
                            "ranks")
    times = f", and the ranks were started again {restarts} times already" if restarts else ""
    raise ClusterError(f"{lost} was lost: its process or its machine has ended{times}")


def _attempt(
    actors: Actors, call: bytes, machines: list[str], paths: list[str], options: Options
) -> tuple[list[Form], str]:
    """Start all ranks once.

    Args:
        actors: the ranks.
        call: the bound call, as `packed_form` returns it.
        machines: the machine of each rank.
        paths: the page file of the graph on the machine of each rank.
        options: the options of the call.

    Returns:
        The forms of the ranks that have ended, and the name of a lost rank, or "" if no rank was lost.
    """
    ray, actors.attempts = actors.ray, actors.attempts + 1
    number, listed = actors.attempts, json.dumps(machines)
    waiting = {one.run.remote(number, listed, call, path): rank
               for rank, (one, path) in enumerate(zip(actors.handles, paths))}
    outputs, end = _Outputs(actors, options), float("inf")
    found, lost = dict[int, Form](), ""
    while waiting:
        ready, _ = ray.wait(list(waiting), num_returns=1, timeout=_POLL)
        outputs.pass_on()
        for one in ready:
            rank = waiting.pop(one)
            try:
                found[rank] = unpacked_form(ray.get(one))
            except ray.exceptions.RayError:
                lost = lost or f"rank {rank}"
            if end == float("inf") and (lost or "class" in found[rank][0]):
                end = time.monotonic() + _GRACE
                for handle in actors.handles:
                    handle.cancel.remote(number, f"rank {rank} has failed")
        if time.monotonic() > end:  # these ranks compute, and do not come to an exchange
            for rank in waiting.values():
                ray.kill(actors.handles[rank], no_restart=False)
            break
    outputs.pass_on_last(set(found))
    return [found[rank] for rank in sorted(found)], lost


class _Outputs:
    """Passes on the output of the ranks: text to stderr, and notices to the function that the options name.

    A question to an actor stays open until the actor answers, because an actor that Ray restarts answers late.
    """

    def __init__(self, actors: Actors, options: Options) -> None:
        self._ray, self._handles, self._options = actors.ray, actors.handles, options
        self._asked = {one.said.remote(): rank for rank, one in enumerate(actors.handles)}

    def pass_on(self, seconds: float = 0.0) -> None:
        """Pass on the answers that have arrived within `seconds`, and ask the actors that answered again."""
        ready = []
        if self._asked:
            ready, _ = self._ray.wait(list(self._asked), num_returns=len(self._asked), timeout=seconds)
        for one in ready:
            rank = self._asked.pop(one)
            try:
                text, notices = json.loads(self._ray.get(one))
            except self._ray.exceptions.RayError:
                continue
            sys.stderr.write(text)
            sys.stderr.flush()
            say = self._options.notices
            if say is not None:
                for notice in notices:
                    say(notice)
            self._asked[self._handles[rank].said.remote()] = rank

    def pass_on_last(self, ranks: set[int]) -> None:
        """Pass on the last output of ranks that have ended their run."""
        for _ in range(2):  # an answer may have been given before the end of the run
            self._asked = {one: rank for one, rank in self._asked.items() if rank in ranks}
            self.pass_on(_GRACE)


def _page_files(actors: Actors, machines: list[str], path: str, options: Options) -> list[str]:
    """Return, for each rank, the path of the page file on the machine of the rank. Machines that cannot access the file
    get a copy.

    Raises DiskError if the file cannot be read.
    """
    ray, stamp = actors.ray, json.dumps(stamp_of(path))
    found = ray.get([one.copy_of.remote(path, stamp) for one in actors.handles])
    copies = dict[str, str]()
    for rank, machine in enumerate(machines):
        if not found[rank] and machine not in copies:
            if options.notices is not None:
                options.notices(f"sends {path} to the machine of rank {rank}, which does not see it")
            copies[machine] = _sent(ray, actors.handles[rank], Path(path), stamp)
        found[rank] = found[rank] or copies[machine]
        copies.setdefault(machine, found[rank])
    return list(found)


def _sent(ray: Any, actor: Any, path: Path, stamp: str) -> str:
    """Send a file to the machine of an actor.

    Args:
        ray: the module `ray`.
        actor: the actor.
        path: the file.
        stamp: the stamp of the file, as JSON.

    Returns:
        The path of the file on the machine of the actor.
    """
    at, there = 0, ""
    try:
        with open(path, "rb") as file:
            while data := file.read(_PART):
                there = ray.get(actor.receive.remote(str(path), stamp, at, data))
                at += len(data)
    except OSError as error:
        raise DiskError(f"{path}: {error.strerror}") from None
    return there
