"""The file of `vlang run --plot`: a picture of the values, or a page with everything about a run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from vlang.runtime.results.html import result_html
from vlang.runtime.results.pictures.picture import check_picture, page
from vlang.runtime.storage.output import whole_file

if TYPE_CHECKING:
    from vlang.runtime.results.result import Result

__all__ = ["save_report"]


def save_report(result: Result, path: str | os.PathLike[str]) -> None:
    """Write a picture of a result atomically.

    A .png or .svg has the picture of the first field, or of the rounds if there are no fields. An HTML page has the
    pictures of the first field and of the rounds, the reason why the run ended, and the first rows. Raises BindError
    for another suffix, DiskError if the file cannot be written.
    """
    form = check_picture(path)
    shown = [result.plot()] if result.fields else []
    if result.history and (form == ".html" or not shown):
        shown.append(result.history.plot())
    if form != ".html" and shown:
        shown[0].save(path)
        return
    body = page(result.program, [result_html(result), *(picture.svg() for picture in shown)])
    with whole_file(path) as file:
        file.write(body.encode())
