"""The command `vlang`. Each subcommand has its own module; this module turns every outcome into an exit status.

| status | meaning |
| --- | --- |
| 0 | success |
| 1 | an error of the user: in a program, a graph or a file |
| 2 | wrong usage of the command |
| 70 | a bug in vlang |
| 130 | interrupted, by Ctrl-C or SIGTERM |
| 141 | the reader of the output closed the pipe |
"""

from __future__ import annotations

import atexit
import gc
import io
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn, TextIO

import click

from vlang.errors import CacheWarning, InternalError, VlangError

__all__ = ["main"]

_COLLECTIONS = (50_000, 20, 100)
"""Thresholds of garbage collection. Most objects of a short command are modules, which are never garbage. With the
default threshold of 700 objects, collections would take a tenth of its time."""
_LEAST = 500
_NO_ROOM = ("cannot allocate memory", "failed to map segment", "can't start new thread", "cannot start new thread",
            "bad_alloc", "unable to allocate", "cannot enable executable stack")  # fmt: skip
_BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (default: the process's) and return the exit status."""
    if argv is None:
        _one_blas_thread()
        _end_like_an_interrupt()
        gc.set_threshold(*_COLLECTIONS)
    try:
        status = _run(list(sys.argv[1:] if argv is None else argv))
        if not sys.stdout.closed:  # the language server closes stdout
            sys.stdout.flush()
        if argv is None and "vlang.runtime.gpu.device.card" in sys.modules \
                and not (sys.getprofile() or sys.gettrace()):
            _leave(status)
    except BrokenPipeError:
        _discard_output()
        return 141
    except KeyboardInterrupt:
        _say("interrupted")
        return 130
    except OSError as error:
        return _failed(f"error: standard output: {(error.strerror or str(error)).lower()}", 1)
    return status


def _leave(status: int) -> NoReturn:
    """Run the exit functions of a process that has used a GPU, and end the process at once.

    The system frees the memory and the context in less time than Python and CUDA take to destroy each object. Only the
    command ends its process without cleaning up; `import vlang` has no such effect.
    """
    sys.stderr.flush()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(status)


def _one_blas_thread() -> None:
    """Limit OpenBLAS to one thread, unless the user sets the number.

    When NumPy is imported, OpenBLAS starts one thread per processor, and each thread spins for some time. The command
    computes no matrix products, so it does not need these threads. Only the command limits the threads; `import vlang`
    does not.
    """
    if not any(name in os.environ for name in _BLAS_THREADS):
        os.environ["OPENBLAS_NUM_THREADS"] = "1"


def _end_like_an_interrupt() -> None:
    """Make SIGTERM raise KeyboardInterrupt, so that temporary files are removed and messages are shown.

    Only the command changes the handler; `import vlang` does not.
    """
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, signal.default_int_handler)


def _run(argv: list[str]) -> int:
    from vlang.cli.app import cli  # start-up

    if instruction := os.environ.get("_VLANG_COMPLETE"):
        from click.shell_completion import shell_complete  # start-up

        return shell_complete(cli, {}, "vlang", "_VLANG_COMPLETE", instruction)
    try:
        # cli.main() is not used, since it handles a broken pipe in another way.
        with warnings.catch_warnings(), cli.make_context("vlang", argv) as context:
            warnings.showwarning = _warned
            result = cli.invoke(context)
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
        return 0
    except click.ClickException as error:
        text = io.StringIO()
        error.show(text)
        _say(text.getvalue().rstrip("\n"))
        return error.exit_code
    except InternalError as error:
        return _bug(error, str(error))
    except VlangError as error:
        message = str(error)
        return _failed(message if message.startswith(("error", "warning")) else f"error: {message}", 1)
    except MemoryError as error:
        return _failed(f"error: {_no_memory(error)}", 1)
    except (BrokenPipeError, KeyboardInterrupt):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            where = error.filename or "standard output"  # functions that write files set `filename`
            return _failed(f"error: {where}: {(error.strerror or str(error)).lower()}", 1)
        if short := _too_little(error):
            return _failed(f"error: {short}", 1)
        return _bug(error, f"{type(error).__name__}: {error}")


def _no_memory(error: MemoryError) -> str:
    """The message for a MemoryError, with the needed and the available memory if they can be determined."""
    try:
        from vlang.runtime.storage.room import named  # start-up

        return str(named(error, "this command"))
    except (MemoryError, ImportError, OSError):
        return "out of memory: not even the modules of vlang fit. End other programs, or raise the limit (ulimit -v)"


def _too_little(error: BaseException) -> str:
    """Return the message for an error of a library, of threads or of LLVM that a lack of memory caused; "" for other
    errors.

    If the address space is limited, errors of the loader and of extension modules count as a lack of memory, even if
    their texts do not mention memory.
    """
    from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit  # start-up

    texts, limit = [], getrlimit(RLIMIT_AS)[0]
    cause: BaseException | None = error
    while cause is not None:
        texts.append(str(cause))
        cause = cause.__cause__ or cause.__context__
    sure = any(sign in text.lower() for text in texts for sign in _NO_ROOM)
    load = isinstance(error, (ImportError, OSError))
    if not sure and (limit == RLIM_INFINITY or not (load or isinstance(error, SystemError))):
        return ""
    what = "a library cannot be loaded" if load else " ".join(texts[0].split())[:120]
    if limit == RLIM_INFINITY:
        return f"out of memory: {what}. End other programs, or use a machine with more memory"
    return (f"out of memory: {what}. The address space is limited to {limit >> 20:,} MB, and vlang needs about "
            f"{_LEAST} MB beside the graph: raise the limit (ulimit -v)")


def _bug(error: Exception, message: str) -> int:
    """Report a bug of vlang; the traceback is shown only on request."""
    if os.environ.get("VLANG_DEBUG"):
        import traceback  # start-up

        traceback.print_exception(error, file=sys.stderr)
    text = " ".join(message.split())[:500]
    advice = "please report it with the program and the command (VLANG_DEBUG=1 shows the traceback)"
    return _failed(f"error: a bug in vlang: {text}\n{advice}", 70)


def _failed(message: str, status: int) -> int:
    """Flush the pending output of stdout, and print a message on stderr."""
    try:
        sys.stdout.flush()
    except OSError:
        _discard_output()
    _say(message)
    return status


def _say(message: str) -> None:
    from vlang.cli.show import visible  # start-up

    with suppress(OSError):  # stderr may be closed as well
        print(visible(message), file=sys.stderr)


def _warned(message: Warning | str, category: type[Warning], filename: str, lineno: int,
            file: TextIO | None = None, line: str | None = None) -> None:  # the parameters of warnings.showwarning
    """Print a warning. A warning of vlang is a single line; Python formats any other warning."""
    ours = issubclass(category, CacheWarning)
    _say(f"warning: {message}" if ours else warnings.formatwarning(message, category, filename, lineno).rstrip())


def _discard_output() -> None:
    """Redirect stdout to the null device, so that the interpreter can flush stdout at exit without an error."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
