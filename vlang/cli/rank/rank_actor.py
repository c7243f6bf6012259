"""One rank of a job as an actor of Ray.

The actor gets and returns only numbers, text and bytes, so Ray neither pickles objects of vlang nor loads code of
another process. The machines of the Ray cluster must have vlang installed.
"""

from __future__ import annotations

import io
import json
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import vlang
from vlang.api.calls import Call
from vlang.api.program import Program
from vlang.api.running.call_files import read_call
from vlang.api.running.ran import packed
from vlang.api.running.run_call import ran_call
from vlang.runtime.cluster.job.form import packed_form, unpacked_form
from vlang.runtime.cluster.job.rank_error import error_form
from vlang.runtime.cluster.job.shared_file import scratch_folder, stamp_of
from vlang.runtime.cluster.mail.letter import Letter
from vlang.runtime.cluster.mail.mail_rank import Mailbox, MailRank
from vlang.runtime.cluster.transports.transport import agree, joined

if TYPE_CHECKING:
    from vlang.runtime.graph.graph import Graph

__all__ = ["RankActor"]


class _Said(io.TextIOBase):
    """An output that stores the written text and the notices of the run until the driver takes them."""

    def __init__(self) -> None:
        self._lock, self._text, self._notices = threading.Lock(), "", list[str]()

    def writable(self) -> bool:
        """True."""
        return True

    def write(self, text: str) -> int:
        """Keep a text."""
        with self._lock:
            self._text += text
        return len(text)

    def notice(self, text: str) -> None:
        """Keep a notice."""
        with self._lock:
            self._notices.append(text)

    def taken(self) -> tuple[str, list[str]]:
        """Return the text and the notices that were added since the last call."""
        with self._lock:
            found = self._text, self._notices
            self._text, self._notices = "", []
        return found


class RankActor:
    """A rank, in a process that Ray has started. The methods of an actor run in several threads.

    Args:
        rank: the number of the rank.
        job: the name of the job; actor number r has the name JOB-r.
    """

    def __init__(self, rank: int, job: str) -> None:
        self._rank, self._job = rank, job
        self._box, self._peers = Mailbox(), dict[int, Any]()
        self._said = sys.stderr = _Said()
        self._graph: tuple[str, Graph] | None = None  # the last graph, whose rows stay in memory
        self._program: tuple[dict[str, Any], Program] | None = None
        self._copies = dict[tuple[str, str], Path]()  # page files that were sent, by path and stamp

    def about(self) -> str:
        """The machine, the process and the version of vlang, as JSON."""
        import ray  # optional

        node = ray.get_runtime_context().get_node_id()
        return json.dumps({"machine": node, "pid": os.getpid(), "version": vlang.__version__})

    def copy_of(self, path: str, stamp: str) -> str:
        """Return the path of a page file on this machine: `path` if the file at `path` has the stamp, else the path of
        a copy that the driver has sent. The result is "" if there is no copy.
        """
        if json.dumps(stamp_of(path)) == stamp:
            return path
        return str(self._copies.get((path, stamp), ""))

    def receive(self, path: str, stamp: str, at: int, data: bytes) -> str:
        """Write a part of a page file of the driver to a copy on this machine.

        Args:
            path: the file of the driver.
            stamp: its stamp, as JSON.
            at: where the part begins, in bytes.
            data: the bytes of the part.

        Returns:
            The path of the copy.
        """
        if at == 0:
            self._copies[path, stamp] = scratch_folder() / "graph.vg"
        copy = self._copies[path, stamp]
        with open(copy, "r+b" if at else "wb") as file:
            file.seek(at)
            file.write(data)
        return str(copy)

    def deliver(self, raw: bytes) -> None:
        """Take a message of another rank."""
        self._box.deliver(Letter.unpacked(raw))

    def cancel(self, attempt: int, reason: str) -> None:
        """Make the run fail in its next exchange with other ranks."""
        self._box.cancel(attempt, reason)

    def said(self) -> str:
        """Return the printed text and the notices of the rank since the last call, as JSON."""
        return json.dumps(self._said.taken())

    def run(self, attempt: int, machines: str, call: bytes, path: str) -> bytes:
        """Run a call together with the other ranks.

        Args:
            attempt: the number of earlier starts of the job.
            machines: for each rank, the machine on which its actor runs, as JSON.
            call: the bound call (see `call_form`).
            path: the page file of the graph, on this machine.

        Returns:
            A form, which contains the outcome on rank 0, and is empty on other ranks. After an error, the form has the
            "class" and the "text" of the error.
        """
        transport = MailRank(self._rank, json.loads(machines), attempt, self._box, self._send)
        try:
            with joined(transport):
                about, given = read_call(unpacked_form(call), self._rank == 0, self._opened(path),
                                         self._said.notice)
                ran = ran_call(self._compiled(about), Call(**given))
                agree(transport, 0, "the end")
            return packed_form(*packed(ran)) if self._rank == 0 else packed_form({}, {})
        except BaseException as error:
            transport.abort(" ".join(str(error).split()) or type(error).__name__)
            return packed_form(error_form(error, self._rank), {})

    def _send(self, rank: int, raw: bytes) -> None:
        import ray  # optional

        if rank not in self._peers:
            self._peers[rank] = ray.get_actor(f"{self._job}-{rank}")
        self._peers[rank].deliver.remote(raw)

    def _opened(self, path: str) -> Graph:
        """The graph of a page file. The file stays open until another graph is requested."""
        from vlang.runtime.graph.graph import Graph  # start-up

        key = f"{path} {stamp_of(path)}"
        if self._graph is None or self._graph[0] != key:
            self._graph = key, Graph.open(path)
        return self._graph[1]

    def _compiled(self, about: dict[str, Any]) -> Program:
        """Return a program. The program is kept until another program is requested."""
        if self._program is None or self._program[0] != about:
            self._program = about, Program(**about)
        return self._program[1]
