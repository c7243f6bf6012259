"""Compilation in another process, so that the memory of the compiler does not count towards a memory budget.

numba and LLVM take some 200 MB while they compile, which is more than many budgets. So under a budget
(`vlang.runtime.storage.ledger`) kernels that are not in the cache are compiled by a Python child process. The child
process returns object code, and needs no cache directory. The child process ends after a second without work. It also
ends when its parent ends, because the system then closes the pipe of its input.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import subprocess
import sys
from typing import Any

from vlang.errors import InternalError
from vlang.records import dataclass

__all__ = ["Unavailable", "object_code", "serve"]

_IDLE = 1.0  # seconds without work after which the process ends
_START = 60.0  # seconds in which it must start
_READY = b"vlang compiler\n"


class Unavailable(Exception):
    """No other process can compile. The message is the reason."""


@dataclass
class _Apart:
    """The process that compiles.

    Attributes:
        owner: the id of the process that started the compiling process; a fork of the owner starts another one.
        process: the process.
    """

    owner: int
    process: subprocess.Popen[bytes]

    def ask(self, request: bytes) -> tuple[dict[str, Any], bytes]:
        """Send a request; returns the head of the answer, and object code. Raises OSError if the process has ended."""
        given, taken = self.process.stdin, self.process.stdout
        assert given is not None
        assert taken is not None
        given.write(request)
        given.flush()
        line = taken.readline()
        if not line.endswith(b"\n"):
            raise BrokenPipeError("the process has ended")
        head: dict[str, Any] = json.loads(line)
        code = taken.read(head["size"])
        if len(code) != head["size"]:
            raise BrokenPipeError("the process has ended")
        return head, code

    def end(self) -> None:
        """End the process."""
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()
        if self.owner == os.getpid():
            self.process.kill()
            self.process.wait()


_running: _Apart | None = None  # threads share it under the lock of vlang.runtime.compile.objects


def object_code(text: str, name: str, result: str, args: tuple[str, ...], symbol: str) -> bytes:
    """Compile a function of a kernel text in another process. Callers take turns.

    Args:
        text: the kernel text.
        name: the name of the function in the text.
        result: the result type, "void" or "i64".
        args: the argument types, such as "u32*".
        symbol: the name of the function in the object code.

    Raises InternalError if numba rejects the text, and Unavailable if the process cannot be started, or ends twice
    without an answer.
    """
    asked = {"text": text, "name": name, "result": result, "args": args, "symbol": symbol}
    request = json.dumps(asked).encode() + b"\n"
    reason = ""
    for _ in range(2):  # a process that is still there may just have ended
        try:
            head, code = _process().ask(request)
        except (OSError, ValueError) as error:
            reason = str(error)
            _end()
            continue
        if "error" in head:
            raise InternalError(head["error"])
        return code
    raise Unavailable(reason)


def _process() -> _Apart:
    global _running
    if _running is not None and (_running.owner != os.getpid() or _running.process.poll() is not None):
        _end()
    if _running is None:
        _running = _started()
    return _running


def _started() -> _Apart:
    """Start the process and wait until it can compile. Raises Unavailable."""
    code = f"import sys; sys.path[:] = {sys.path!r}; from vlang.runtime.compile.apart import serve; serve()"
    try:
        # A group of its own: Ctrl-C in a terminal goes to this process, which then decides when to stop.
        process = subprocess.Popen([sys.executable, "-P", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, process_group=0)  # fmt: skip
    except (OSError, ValueError) as error:
        raise Unavailable(str(error)) from None
    found = _Apart(os.getpid(), process)
    assert process.stdout is not None
    if not select.select([process.stdout], [], [], _START)[0] or process.stdout.readline() != _READY:
        found.end()
        raise Unavailable(f"{sys.executable} does not start")
    return found


def _end() -> None:
    global _running
    if _running is not None:
        _running.end()
        _running = None


atexit.register(_end)


def serve() -> None:
    """Compile for the parent process, which reads standard output, until the parent closes standard input."""
    given, taken = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no part of an answer
    from vlang.runtime.compile.compile_numba import Compiler  # start-up

    compilers: dict[str, Compiler] = {}
    _answer(taken, _READY)
    while select.select([given], [], [], _IDLE)[0] and (line := given.readline()):
        request = json.loads(line)
        text = request["text"]
        compiler = compilers.get(text) or compilers.setdefault(text, Compiler(text))
        try:
            code = compiler.object_code(request["name"], request["result"], tuple(request["args"]), request["symbol"])
            head: dict[str, Any] = {"size": len(code)}
        except InternalError as error:
            code, head = b"", {"size": 0, "error": str(error)}
        if not _answer(taken, json.dumps(head).encode() + b"\n" + code):
            return


def _answer(taken: Any, data: bytes) -> bool:
    """Write and flush; returns whether the reader still exists."""
    try:
        taken.write(data)
        taken.flush()
    except BrokenPipeError:
        return False
    return True
