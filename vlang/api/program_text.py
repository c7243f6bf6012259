"""Reads the text of a program from a file, from standard input or from the standard library."""

from __future__ import annotations

import difflib
from pathlib import Path

from vlang import stdlib
from vlang.errors import BindError, DiskError, ProgramError
from vlang.syntax.program_file import STDIN, program_bytes

__all__ = ["program_text"]


def program_text(name: str | Path) -> tuple[str, Path]:
    """The text of a program, and the path of its file. Raises DiskError, ProgramError and BindError."""
    path = Path(STDIN if str(name) == "-" else name)
    if path.suffix != ".vp" and str(name) in stdlib.names() and not path.is_file():
        path = stdlib.path(str(name))
    try:
        text = program_bytes("-" if str(name) == "-" else path).decode("utf-8-sig")
    except DiskError:
        raise
    except UnicodeEncodeError:
        raise BindError(f"vlang.load takes the name of a program or a path, not {str(name)!a}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(str(name), error, stdlib.names()) from None
    return text, path


def _unreadable(name: str, error: Exception, known: tuple[str, ...]) -> Exception:
    if isinstance(error, UnicodeDecodeError):
        return ProgramError(f"{name}: not a program: the file is not UTF-8 text (byte {error.start + 1})")
    if isinstance(error, FileNotFoundError):
        near = difflib.get_close_matches(name, known, 1)
        hint = f"; did you mean `{near[0]}`?" if near else "; `vlang list` shows the programs that come with vlang"
        return DiskError(f"there is no program file {name!r}, and no program of that name{hint}")
    assert isinstance(error, OSError)
    return DiskError(f"{name} cannot be read: {(error.strerror or str(error)).lower()}")
