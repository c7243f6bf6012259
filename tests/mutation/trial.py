"""Runs one mutation: in a copy of the tree, tests run until one fails, and then this test runs without the mutation."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.mutation.operators import Site, mutated
from tests.mutation.plan import covering

__all__ = ["Trials", "Verdict", "copied"]

SILENCE = 300.0  # tests hang if none ends within so many seconds
SHARE = 0.1  # the part of SILENCE that a hanging test may take without the mutation
_ENDED = re.compile(r"^(\S+::.*?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b", re.MULTILINE)


@dataclass
class Verdict:
    """The outcome of a mutation.

    Attributes:
        site: The path, line, operator and place of the mutation.
        before: The text that was replaced.
        after: The text in its place.
        changed: The path and the line with the mutation, which identify it in `judged.py`.
        killed: Whether a test detected it.
        by: The test that detected it, or "".
        seconds: The time until this test failed, or of all tests.
        note: "timeout", or why a kill does not count.
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
        """The verdict in a line."""
        return f"{'killed' if self.killed else 'SURVIVED'} {self.by} in {self.seconds:.0f} s {self.note}"


def copied(root: Path, to: Path) -> Path:
    """Copy the files of a tree that git tracks or would add. Links stay links."""
    shutil.rmtree(to, ignore_errors=True)
    command = ["git", "ls-files", "-coz", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, check=True)
    for name in listed.stdout.decode().rstrip("\0").split("\0"):
        if (root / name).is_symlink() or (root / name).exists():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, to / name, follow_symlinks=False)
    return to


class Trials:
    """Mutations of a copied tree, one after another.

    Args:
        tree: The copy.
        cache: A folder for the compiled kernels of the tree without mutations.
        limit: Seconds for all tests of one mutation. A mutation not killed by then has survived.
    """

    def __init__(self, tree: Path, cache: Path, limit: float = 1800.0) -> None:
        self.tree, self.cache, self.limit = tree.resolve(), cache.resolve(), limit
        self.cache.mkdir(mode=0o700, parents=True, exist_ok=True)

    def judge(self, name: str, site: Site) -> Verdict:
        """Run the tests of a mutation."""
        path = self.tree / site.path
        text = path.read_text(encoding="utf-8")
        line = mutated(text, site).splitlines()[site.line - 1].strip()
        verdict = Verdict(name, text[site.start : site.end], site.new, f"{site.path}: {line}")
        start = time.perf_counter()
        with self._cache_of_its_own() as cache:
            path.write_text(mutated(text, site), encoding="utf-8")
            try:
                failed, hung = self._run([one for one in covering(site.path) if (self.tree / one).exists()], cache)
            finally:
                path.write_text(text, encoding="utf-8")
        verdict.seconds = round(time.perf_counter() - start, 1)
        verdict.by = failed or hung
        if failed:
            again, hangs = self._run([failed], self.cache)
            verdict.killed = not again and not hangs
            verdict.note = "" if verdict.killed else "the test fails without the mutation, too"
        elif hung:
            begun = time.perf_counter()
            again, hangs = self._run([hung], self.cache)
            verdict.killed = not again and not hangs and time.perf_counter() - begun < SHARE * SILENCE
            verdict.note = "timeout" if verdict.killed else "timeout, and slow without the mutation, too"
        return verdict

    @contextmanager
    def _cache_of_its_own(self) -> Iterator[Path]:
        """A copy of the cache by hard links, so that kernels with a mutation do not stay in the cache."""
        own = self.cache.with_name("cache-mutated")
        shutil.rmtree(own, ignore_errors=True)
        shutil.copytree(self.cache, own, copy_function=os.link)
        own.chmod(0o700)
        try:
            yield own
        finally:
            shutil.rmtree(own, ignore_errors=True)

    def _run(self, tests: Sequence[str], cache: Path) -> tuple[str, str]:
        """Run tests until one fails. Returns the test that failed and the test that hung, each "" for none."""
        log = self.cache.with_name("log")
        environment = {**os.environ, "VLANG_CACHE": str(cache), "PYTHONPATH": str(self.tree),
                       "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}
        command = [sys.executable, "-m", "pytest", "-x", "-v", "--tb=line", "-p", "no:cacheprovider", "-p", "no:xdist",
                   "--hypothesis-profile=ci", *tests]
        with log.open("w") as file:
            running = subprocess.Popen(command, cwd=self.tree, env=environment, stdout=file, stderr=file,
                                       start_new_session=True)
            hung = self._watched(running, log)
        text = log.read_text(errors="replace")
        ended = _ENDED.findall(text)
        if hung:
            begun = re.findall(r"^(\S+::\S*)", text, re.MULTILINE)
            return "", begun[-1] if begun else tests[0]
        for test, what in ended:
            if what in ("FAILED", "ERROR"):
                return test, ""
        if running.returncode in (0, 5, -signal.SIGKILL):  # all passed, or the limit is reached
            return "", ""
        return self._first_error(text, tests), ""

    def _first_error(self, text: str, tests: Sequence[str]) -> str:
        """The file that could not be imported, or the first of the tests if pytest did not start."""
        found = re.search(r"^ERROR (\S+)", text, re.MULTILINE)
        return found[1] if found else tests[0]

    def _watched(self, running: subprocess.Popen[bytes], log: Path) -> bool:
        """Wait for the end of the tests; returns whether they had to be stopped."""
        start, size, changed = time.monotonic(), 0, time.monotonic()
        while running.poll() is None:
            time.sleep(0.2)
            now, length = time.monotonic(), log.stat().st_size
            if length != size:
                size, changed = length, now
            if now - changed > SILENCE or now - start > self.limit:
                os.killpg(running.pid, signal.SIGKILL)
                running.wait()
                return now - changed > SILENCE
        return False
