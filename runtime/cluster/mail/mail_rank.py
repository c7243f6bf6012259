"""The transport of a rank that sends single messages. Messages arrive in any order, in other threads."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence

import numpy as np

from vlang.errors import ClusterError
from vlang.runtime.cluster.mail.letter import FAILED, Letter, letters
from vlang.runtime.cluster.transports.transport import Buffer, check_places
from vlang.runtime.cluster.transports.watch import PATIENCE, absent

__all__ = ["MailRank", "Mailbox"]


class Mailbox:
    """The messages that have arrived at a rank. Threads other than the thread of the run deliver messages."""

    def __init__(self) -> None:
        self._arrived = threading.Condition()
        self._letters: dict[tuple[int, int], dict[int, Letter]] = {}  # by call and sender: the parts by number
        self._early: list[Letter] = []  # messages of a later attempt, which this rank has not begun
        self._attempt = -1
        self._failed = ""

    def begin(self, attempt: int) -> None:
        """Begin an attempt, and drop the messages of earlier attempts."""
        with self._arrived:
            self._attempt, self._failed = attempt, ""
            self._letters.clear()
            early, self._early = self._early, []
        for letter in early:
            self.deliver(letter)

    def deliver(self, letter: Letter) -> None:
        """Put a message into the box."""
        with self._arrived:
            if letter.attempt > self._attempt:
                self._early.append(letter)
            elif letter.attempt == self._attempt and letter.place.startswith(FAILED):
                self._fail(f"rank {letter.sender} failed: {letter.place[len(FAILED):]}")
            elif letter.attempt == self._attempt:
                self._letters.setdefault((letter.call, letter.sender), {})[letter.part] = letter
                self._arrived.notify_all()

    def cancel(self, attempt: int, reason: str) -> None:
        """Make the next exchange of an attempt fail on this rank."""
        with self._arrived:
            if attempt == self._attempt:
                self._fail(reason)

    def _fail(self, reason: str) -> None:
        self._failed = self._failed or reason
        self._arrived.notify_all()

    def take(
        self, call: int, senders: Sequence[int], late: Callable[[dict[int, str]], None]
    ) -> dict[int, list[Letter]]:
        """Wait for the messages of an exchange, and remove them from the box.

        Args:
            call: the number of the exchange.
            senders: the ranks whose messages are expected.
            late: called once, after PATIENCE seconds, with the places of the ranks whose messages have arrived.

        Returns:
            For each sender, the parts of the message in the order of the part numbers.

        Raises ClusterError if a rank has failed.
        """
        end: float | None = time.monotonic() + PATIENCE
        with self._arrived:
            while not self._failed and not all(self._complete(call, sender) for sender in senders):
                self._arrived.wait(None if end is None else max(0.0, end - time.monotonic()))
                if end is not None and time.monotonic() >= end:
                    end = None
                    late({sender: next(iter(parts.values())).place for (at, sender), parts in self._letters.items()
                          if at == call and parts})
            if self._failed:
                raise ClusterError(self._failed)
            taken = {sender: self._letters.pop((call, sender)) for sender in senders}
        return {sender: [parts[number] for number in range(len(parts))] for sender, parts in taken.items()}

    def _complete(self, call: int, sender: int) -> bool:
        parts = self._letters.get((call, sender))
        return parts is not None and len(parts) == next(iter(parts.values())).parts


class MailRank:
    """The transport of a rank that sends single messages (see `Transport`).

    Args:
        rank: the number of the rank.
        machines: for each rank, the name of its machine.
        attempt: how often the job was started before.
        box: the messages that have arrived.
        send: sends bytes to a rank; it returns before the bytes have arrived.
    """

    together = False

    def __init__(
        self, rank: int, machines: Sequence[str], attempt: int, box: Mailbox, send: Callable[[int, bytes], None]
    ) -> None:
        self.rank, self.size = rank, len(machines)
        self.beside, self.lead = machines.count(machines[rank]), machines.index(machines[rank])
        self.place = machines[:rank].count(machines[rank])
        self.calls = self.sent = 0
        self._attempt, self._box, self._send = attempt, box, send
        self._peers = [peer for peer in range(self.size) if peer != rank]
        self._last = ""
        box.begin(attempt)

    def exchange(self, buffers: Sequence[Buffer], where: str) -> list[Buffer]:
        """See `Transport`."""
        self.calls += 1
        for peer in self._peers:
            self.sent += len(buffers[peer])
            for letter in letters(self._attempt, self.calls, self.rank, where, buffers[peer]):
                self._send(peer, letter.packed())
        taken = self._box.take(self.calls, self._peers, lambda places: self._late(places, where))
        check_places([where if peer == self.rank else taken[peer][0].place for peer in range(self.size)])
        self._last = where
        found = [np.zeros(0, np.uint8)] * self.size
        for peer, parts in taken.items():
            found[peer] = _aligned(parts)
        return found

    def abort(self, reason: str) -> None:
        """See `Transport`."""
        for peer in self._peers:
            for letter in letters(self._attempt, self.calls, self.rank, FAILED + reason, np.zeros(0, np.uint8)):
                self._send(peer, letter.packed())

    def _late(self, places: dict[int, str], where: str) -> None:
        """Print which ranks wait and which ranks are missing. Only the lowest of the waiting ranks prints."""
        if self.rank < min(places, default=self.size):
            print(absent({**places, self.rank: where}, self.size, PATIENCE, self._last), file=sys.stderr, flush=True)


def _aligned(parts: Sequence[Letter]) -> Buffer:
    """Copy the data of a message to memory that begins at a multiple of 8 bytes."""
    found = np.empty(sum(len(part.data) for part in parts), np.uint8)
    at = 0
    for part in parts:
        found[at : at + len(part.data)] = part.data
        at += len(part.data)
    return found
