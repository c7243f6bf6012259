"""Page files (.vg): a graph on disk in pages that are read, checked and used one by one.

`form` has the bytes, `header` reads and checks the header, `directory` the directory of the pages of one direction, and
`page_file` is what callers use. The form is described in docs/internals/page-file.md.
"""

from __future__ import annotations

from vlang.runtime.storage.page_file.directory import Directory
from vlang.runtime.storage.page_file.form import ColumnInfo
from vlang.runtime.storage.page_file.page_file import Extent, PageFile, PageView

__all__ = ["ColumnInfo", "Directory", "Extent", "PageFile", "PageView"]
