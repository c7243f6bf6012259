"""Run the tests of mutations. The test files run in a copy of the tree until a test fails; then this test runs without
the mutation.
"""

from __future__ import annotations

import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.mutation.operators import Site, mutated
from tests.mutation.plan import covering

__all__ = ["Trials", "Verdict", "copied"]

SILENCE = 300.0  # tests hang if no test ends within this number of seconds
SHARE = 0.1  # the part of SILENCE that a hanging test may take without the mutation
SOON = 4  # number of test files of every mutation that run before the other files of any mutation
_ENDED = re.compile(r"^(\S+::.*?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b", re.MULTILINE)


@dataclass
class Verdict:
    """The outcome of a mutation.

    Attributes:
        site: The path, line, operator and place of the mutation.
        before: The text that was replaced.
        after: The text that replaces the text in `before`.
        changed: The path and the text of the line with the mutation, which identify the mutation in `judged.py`.
        killed: Whether a test detected the mutation.
        by: The test that detected the mutation, or "".
        seconds: The total time of the test files of the mutation.
        note: "timeout", or the reason why a kill does not count.
    """

    site: str
    before: str
    after: str
    changed: str
    killed: bool = False
    by: str = ""
    seconds: float = 0.0
    note: str = ""

    def said(self) -> str:
        """Return the verdict as a line of text."""
        return f"{'killed' if self.killed else 'SURVIVED'} {self.by} in {self.seconds:.0f} s {self.note}"


@dataclass
class _Mutant:
    """A mutation under test. `ended` is set when the verdict on the mutation is final, so that its other test files
    stop.
    """

    verdict: Verdict
    site: Site
    folder: Path
    left: int
    ended: threading.Event = field(default_factory=threading.Event)
    planting: threading.Lock = field(default_factory=threading.Lock)


def copied(root: Path, to: Path) -> Path:
    """Copy the files of a tree that git tracks or would add. Symbolic links are copied as links."""
    shutil.rmtree(to, ignore_errors=True)
    command = ["git", "ls-files", "-coz", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, check=True)
    for name in listed.stdout.decode().rstrip("\0").split("\0"):
        if (root / name).is_symlink() or (root / name).exists():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, to / name, follow_symlinks=False)
    return to


class Trials:
    """The trials of mutations in a copied tree.

    Args:
        tree: The copy.
        folder: A folder next to the copy, for the compiled kernels and for the trees with a mutation.
        limit: Seconds for all tests of one mutation. A mutation that no test has detected by then has survived.
        jobs: How many test files run at once, each on two processors.
    """

    def __init__(self, tree: Path, folder: Path, limit: float = 1800.0, jobs: int = 1) -> None:
        self.tree, self.folder, self.limit, self.jobs = tree.resolve(), folder.resolve(), limit, jobs
        self.cache = self.folder / "cache"
        self.cache.mkdir(mode=0o700, parents=True, exist_ok=True)

    def judge(self, sites: Sequence[tuple[str, Site]]) -> Iterator[Verdict]:
        """Run the tests of mutations; each mutation has a name. Yield the verdicts in the order in which they become
        final.
        """
        tasks = []
        mutants = []
        for order, (name, site) in enumerate(sites):
            files = self._files(covering(site.path))
            text = (self.tree / site.path).read_text(encoding="utf-8")
            line = mutated(text, site).splitlines()[site.line - 1].strip()
            verdict = Verdict(name, text[site.start : site.end], site.new, f"{site.path}: {line}")
            mutants.append(_Mutant(verdict, site, self.folder / f"mutant{order}", len(files)))
            shutil.rmtree(mutants[-1].folder, ignore_errors=True)  # of an interrupted run
            tasks += [(rank >= SOON, order, rank, file) for rank, file in enumerate(files)]
        waiting = iter([(mutants[order], file) for _, order, _, file in sorted(tasks)])
        done: queue.SimpleQueue[_Mutant | BaseException] = queue.SimpleQueue()
        lock = threading.Lock()
        for job in range(self.jobs):
            threading.Thread(target=self._work, args=(job, waiting, lock, done), daemon=True).start()
        for _ in mutants:
            ended = done.get()
            if isinstance(ended, BaseException):
                raise ended
            shutil.rmtree(ended.folder, ignore_errors=True)
            yield ended.verdict

    def _files(self, tests: Sequence[str]) -> list[str]:
        """Return the test files below paths, in order and each once."""
        found = [path for one in tests for path in sorted((self.tree / one).rglob("test_*.py")) or [self.tree / one]]
        return list(dict.fromkeys(path.relative_to(self.tree).as_posix() for path in found if path.exists()))

    def _work(self, job: int, waiting: Iterator[tuple[_Mutant, str]], lock: threading.Lock,
              done: queue.SimpleQueue[_Mutant | BaseException]) -> None:
        """Run test files until no test file is waiting. The tests inherit the two processors of this thread."""
        if self.jobs > 1:
            usable = sorted(os.sched_getaffinity(0))
            os.sched_setaffinity(0, {usable[(2 * job + k) % len(usable)] for k in range(2)})
        while True:
            with lock:
                mutant, file = next(waiting, (None, ""))
            if mutant is None:
                return
            try:
                decided = not mutant.ended.is_set() and self._decides(mutant, file)
            except BaseException as error:
                done.put(error)
                raise
            with lock:
                mutant.left -= 1
                last = mutant.left == 0 and not mutant.ended.is_set()
                first = decided and not mutant.ended.is_set()
                if last or first:
                    mutant.ended.set()
            if last or first:
                done.put(mutant)

    def _decides(self, mutant: _Mutant, file: str) -> bool:
        """Run a test file with the mutation; return whether this run decides about the mutation. If this run decides,
        the verdict is complete.
        """
        self._plant(mutant)
        verdict = mutant.verdict
        if verdict.seconds > self.limit:
            return False
        start = time.perf_counter()
        failed, hung = self._run(mutant.folder, [file], mutant.folder / "cache", mutant.ended)
        verdict.seconds = round(verdict.seconds + time.perf_counter() - start, 1)
        if (not failed and not hung) or mutant.ended.is_set():
            return False
        begun = time.perf_counter()
        again, hangs = self._run(self.tree, [failed or hung], self.cache, mutant.ended)
        killed = not again and not hangs
        slow = bool(hung) and time.perf_counter() - begun >= SHARE * SILENCE
        if mutant.ended.is_set():
            return False
        verdict.by, verdict.killed = failed or hung, killed and not slow
        if hung:
            verdict.note = "timeout" if verdict.killed else "timeout, and slow without the mutation, too"
        elif not killed:
            verdict.note = "the test fails without the mutation, too"
        return verdict.killed

    def _plant(self, mutant: _Mutant) -> None:
        """Create the tree with the mutation, and its cache, from hard links. The mutation is only in this tree."""
        with mutant.planting:
            if mutant.folder.exists():
                return
            own = mutant.folder.with_name(mutant.folder.name + ".part")
            shutil.rmtree(own, ignore_errors=True)
            shutil.copytree(self.tree, own, copy_function=os.link, symlinks=True,
                            ignore=shutil.ignore_patterns(self.folder.name))
            with suppress(shutil.Error):  # a kernel may leave the cache while it is copied
                shutil.copytree(self.cache, own / "cache", copy_function=os.link)
            (own / "cache").mkdir(exist_ok=True)
            (own / "cache").chmod(0o700)
            path = own / mutant.site.path
            text = path.read_text(encoding="utf-8")
            path.unlink()  # the hard link
            path.write_text(mutated(text, mutant.site), encoding="utf-8")
            own.rename(mutant.folder)

    def _run(self, tree: Path, tests: Sequence[str], cache: Path, ended: threading.Event) -> tuple[str, str]:
        """Run tests until one fails. Return the test that failed and the test that hung; "" means no test."""
        log = self.folder / f"log{threading.get_ident()}"
        environment = {**os.environ, "VLANG_CACHE": str(cache), "PYTHONPATH": str(tree),
                       "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}
        command = [sys.executable, "-m", "pytest", "-x", "-v", "--tb=line", "-p", "no:cacheprovider", "-p", "no:xdist",
                   "--hypothesis-profile=ci", *tests]
        with log.open("w") as file:
            running = subprocess.Popen(command, cwd=tree, env=environment, stdout=file, stderr=file,
                                       start_new_session=True)
            hung = self._watched(running, log, ended)
        text = log.read_text(errors="replace")
        if hung:
            begun = re.findall(r"^(\S+::\S*)", text, re.MULTILINE)
            return "", begun[-1] if begun else tests[0]
        for test, what in _ENDED.findall(text):
            if what in ("FAILED", "ERROR"):
                return test, ""
        if running.returncode in (0, 5, -signal.SIGKILL):  # all passed, or the limit is reached
            return "", ""
        return self._first_error(text, tests), ""

    def _first_error(self, text: str, tests: Sequence[str]) -> str:
        """Return the file that could not be imported, or the first test if pytest did not start."""
        found = re.search(r"^ERROR (\S+)", text, re.MULTILINE)
        return found[1] if found else tests[0]

    def _watched(self, running: subprocess.Popen[bytes], log: Path, ended: threading.Event) -> bool:
        """Wait for the end of the tests; return whether the tests hung. Tests of a mutation with a final verdict are
        stopped.
        """
        start, size, changed = time.monotonic(), 0, time.monotonic()
        while running.poll() is None:
            time.sleep(0.2)
            now, length = time.monotonic(), log.stat().st_size
            if length != size:
                size, changed = length, now
            if now - changed > SILENCE or now - start > self.limit or ended.is_set():
                os.killpg(running.pid, signal.SIGKILL)
                running.wait()
                return now - changed > SILENCE
        return False
