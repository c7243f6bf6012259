"""`vlang lsp`."""

from __future__ import annotations

import click

from vlang.errors import VlangError

__all__ = ["command"]


@click.command()
def command() -> None:
    """Serve editors by the language server protocol, on standard input and output.

    The server sends diagnostics with their help while you write. The server shows types and levels on hover, completes
    words, offers the `write:` lines of diagnostics as quick fixes, and formats programs. The command needs the extra
    `lsp`.
    """
    try:
        from vlang.editor.server import build_server  # start-up
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        raise VlangError("the language server needs pygls 2: pip install 'vlang[lsp]'") from None
    build_server().start_io()
