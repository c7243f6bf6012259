"""A picture: a figure of matplotlib that notebooks show, and that is written as PNG, SVG or HTML."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from html import escape
from types import ModuleType
from typing import IO, Any

from vlang.errors import BindError, VlangError
from vlang.runtime.storage.output import whole_file

__all__ = ["FORMATS", "Picture", "check_picture", "drawing", "logarithmic", "matplotlib", "new_figure", "page"]

FORMATS = (".png", ".svg", ".html")
"""The suffixes of files that a picture can be written to."""

_STYLE = {
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "#e6e6e6",
    "axes.axisbelow": True, "axes.titlesize": 11, "axes.titlelocation": "left", "axes.labelsize": 9.5,
    "axes.edgecolor": "#888888", "xtick.color": "#444444", "ytick.color": "#444444", "font.size": 9,
    "legend.frameon": False, "figure.facecolor": "white", "svg.hashsalt": "vlang", "svg.fonttype": "none",
    "text.parse_math": False,  # ids and names are no formulas, even with `$` in them
}
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 56rem; margin: 2rem auto; padding: 0 1rem }}
svg {{ max-width: 100%; height: auto }}
table {{ border-collapse: collapse }}
th, td {{ padding: .2rem .8rem; text-align: right; border-bottom: 1px solid #e6e6e6 }}
pre {{ white-space: pre-wrap }}
</style></head><body>
<h1>{title}</h1>
{body}
</body></html>
"""


def matplotlib() -> ModuleType:
    """Import matplotlib; raises VlangError, which names the extra to install, if it is missing."""
    try:
        import matplotlib as found  # optional
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise VlangError("pictures need matplotlib: pip install 'vlang[plot]'") from None
    module: ModuleType = found
    return module


def check_picture(path: str | os.PathLike[str]) -> str:
    """The format of a picture's file name, a member of FORMATS.

    Raises BindError for another suffix, VlangError if matplotlib is missing.
    """
    name = os.fspath(path)
    form = next((one for one in FORMATS if name.endswith(one)), "")
    if not form:
        raise BindError(f"unknown format of `{name}`; a picture ends in {', '.join(FORMATS)}")
    matplotlib()
    return form


def drawing() -> AbstractContextManager[Any]:
    """A context manager in which figures are drawn in the style of vlang. Settings of the caller are restored."""
    context: AbstractContextManager[Any] = matplotlib().rc_context(_STYLE)
    return context


def new_figure(width: float = 7.0, height: float = 4.0) -> Any:
    """An empty matplotlib.figure.Figure of a size in inches, without a window. Call this function within the context
    manager `drawing`.
    """
    matplotlib()
    from matplotlib.figure import Figure  # optional

    return Figure(figsize=(width, height), layout="constrained")


def logarithmic(axis: Any) -> None:
    """Label a logarithmic axis with numbers such as 0.001 or 10,000, because formulas as labels are switched off."""
    from matplotlib.ticker import FuncFormatter, NullFormatter  # optional

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


class Picture:
    """A picture. Notebooks display a `Picture`.

    Attributes:
        figure: the matplotlib.figure.Figure, to change or to draw into.
        title: the title of the picture.
    """

    def __init__(self, figure: Any, title: str) -> None:
        self.figure, self.title = figure, title

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture atomically, as .png, .svg or .html by the suffix.

        Raises BindError for another suffix, DiskError if the file cannot be written.
        """
        form = check_picture(path)
        with whole_file(path) as file:
            if form == ".html":
                file.write(page(self.title, [self.svg()]).encode())
            else:
                self._write(file, form[1:])

    def svg(self) -> str:
        """The picture as an SVG element."""
        out = io.BytesIO()
        self._write(out, "svg")
        text = out.getvalue().decode()
        return text[text.index("<svg") :]

    def _write(self, file: IO[bytes], form: str) -> None:
        with drawing():
            metadata = {"Date": None} if form == "svg" else {"Software": None}
            self.figure.savefig(file, format=form, dpi=110, metadata=metadata)

    def _repr_png_(self) -> bytes:
        out = io.BytesIO()
        self._write(out, "png")
        return out.getvalue()

    def __repr__(self) -> str:
        return f"<Picture: {self.title}>"


def page(title: str, parts: Sequence[str]) -> str:
    """An HTML page. title: plain text. parts: HTML."""
    return _PAGE.format(title=escape(title), body="\n".join(parts))
