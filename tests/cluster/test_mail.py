"""The transport of Ray, tested without Ray: threads deliver single messages late and in another order."""

from __future__ import annotations

import contextvars
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, Queue
from typing import Any, TypeVar

import numpy as np
import pytest

from vlang import Graph, load
from vlang.errors import ClusterError
from vlang.runtime.cluster.mail import letter as letters_of
from vlang.runtime.cluster.mail import mail_rank
from vlang.runtime.cluster.mail.letter import Letter
from vlang.runtime.cluster.mail.mail_rank import Mailbox, MailRank
from vlang.runtime.cluster.transports import watch
from vlang.runtime.cluster.transports.transport import Transport, joined, summed

T = TypeVar("T")
MACHINES = ["a", "b", "a"]


def post(queue: Queue[tuple[int, bytes]], boxes: list[Mailbox], over: threading.Event) -> None:
    """Deliver the messages of a queue in random order until the queue is closed."""
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    draw, held = random.Random(seed), list[tuple[int, bytes]]()
    while not (over.is_set() and queue.empty() and not held):
        with suppress(Empty):
            held.append(queue.get(timeout=0.001))
        if held and (len(held) > 2 or draw.random() < 0.5):
            rank, raw = held.pop(draw.randrange(len(held)))
            boxes[rank].deliver(Letter.unpacked(raw))


def by_mail(work: Callable[[Transport], T], boxes: list[Mailbox] | None = None, attempt: int = 1) -> list[Future[T]]:
    """Call `work` in a thread for each of MACHINES, with the transport of its rank. Return when all threads have ended.
    """
    boxes = [Mailbox() for _ in MACHINES] if boxes is None else boxes
    queue, over, futures = Queue[tuple[int, bytes]](), threading.Event(), [Future[T]() for _ in MACHINES]

    def rank(number: int) -> None:
        assert boxes is not None
        transport = MailRank(number, MACHINES, attempt, boxes[number], lambda peer, raw: queue.put((peer, raw)))
        try:
            with joined(transport):
                futures[number].set_result(work(transport))
        except BaseException as error:
            transport.abort(str(error))
            futures[number].set_exception(error)

    threads = [threading.Thread(target=contextvars.copy_context().run, args=(rank, number))
               for number in range(len(MACHINES))]
    postman = threading.Thread(target=post, args=(queue, boxes, over))
    for thread in (postman, *threads):
        thread.start()
    for thread in threads:
        thread.join(120)
    over.set()
    postman.join(120)
    return futures


def test_a_program() -> None:
    """A program gives the same bits as in one process."""
    graph, pagerank = Graph.read("kron:8"), load("pagerank")
    want = pagerank(graph)["rank"]
    for found in by_mail(lambda transport: np.asarray(pagerank(graph, threads=1)["rank"])):
        assert np.array_equal(np.asarray(want), found.result())


def test_messages_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages of all lengths arrive with aligned data, and the lengths and machines are counted."""
    monkeypatch.setattr(letters_of, "MOST_BYTES", 16)
    lengths = (0, 1, 16, 17, 100)

    def work(transport: Transport) -> bool:
        assert (transport.beside, transport.lead) == ((2, 0) if transport.rank != 1 else (1, 1))
        for call, length in enumerate(lengths):
            found = transport.exchange([np.full(length + peer, 10 * transport.rank + peer, np.uint8)
                                        for peer in range(3)], str(call))
            for peer, data in enumerate(found):
                assert data.ctypes.data % 8 == 0
                assert data.tolist() == ([] if peer == transport.rank else
                                         [10 * peer + transport.rank] * (length + transport.rank))
        return transport.calls == len(lengths) and \
            transport.sent == sum(2 * length + 3 - transport.rank for length in lengths)

    assert all(found.result() for found in by_mail(work))


def test_failures() -> None:
    """All other ranks are notified if a rank has an error, if ranks wait at different places of the run, or if the
    driver has lost a rank.
    """
    def fails(transport: Transport) -> int:
        if transport.rank == 1:
            raise ValueError("the disk is full")
        return summed(transport, [1], "a sum")[0]

    def apart(transport: Transport) -> int:
        return summed(transport, [1], f"place {transport.rank}")[0]

    for work, text in ((fails, "rank 1 failed: the disk is full"), (apart, "the ranks do not agree where the run is")):
        errors = [found.exception() for found in by_mail(work)]
        assert all(isinstance(error, ClusterError | ValueError) for error in errors)
        assert text in str(errors[2])

    boxes = [Mailbox() for _ in MACHINES]

    def waits(transport: Transport) -> int:
        if transport.rank == 0:
            time.sleep(0.05)
            for box in boxes:
                box.cancel(3, "rank 0 was lost")
                box.cancel(2, "an attempt before")
        return summed(transport, [1], "a sum")[0] if transport.rank else 0

    assert str(by_mail(waits, boxes, 3)[1].exception()) == "rank 0 was lost"
    assert [found.result() for found in by_mail(lambda one: summed(one, [one.rank], "again")[0], boxes, 4)] == [3] * 3


def test_late_ranks(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The lowest rank that waits prints which ranks wait and which are missing. Old messages are dropped.

    Rank 0 waits after the message of rank 1 has arrived, and rank 2 comes when rank 0 is about to print.
    """
    boxes, arrived, said, deliver = [Mailbox() for _ in MACHINES], threading.Event(), threading.Event(), Mailbox.deliver

    def delivered(self: Mailbox, letter: Letter) -> None:
        deliver(self, letter)
        if self is boxes[0] and letter.place == "a sum":
            arrived.set()

    def absent(*words: Any) -> str:
        said.set()
        return watch.absent(*words)

    def work(transport: Transport) -> int:
        summed(transport, [1], "the start")
        if transport.rank == 0:
            assert arrived.wait(60)
            monkeypatch.setattr(mail_rank, "PATIENCE", 0.2)
        assert transport.rank != 2 or said.wait(60)
        return summed(transport, [1], "a sum")[0]

    monkeypatch.setattr(Mailbox, "deliver", delivered)
    monkeypatch.setattr(mail_rank, "absent", absent)
    boxes[0].deliver(Letter(1, 1, 1, 0, 1, "!an error of an attempt before", np.zeros(0, np.uint8)))
    assert [found.result() for found in by_mail(work, boxes, 2)] == [3] * 3
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "missing" in line]
    assert line == ("not all ranks have come within 0.2 s: rank 0 waits at 'a sum', rank 1 waits at 'a sum'; missing: "
                    "2, after 'the start'")
