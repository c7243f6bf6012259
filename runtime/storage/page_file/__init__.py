"""Page files (.vg): a graph on disk in pages that are read, checked and used one by one.

`form` defines the binary layout, `header` reads and checks the header, and `directory` reads and checks the directory
of the pages of one adjacency direction. Callers use `page_file`. The format is described in
docs/internals/page-file.md.
"""

from __future__ import annotations

from vlang.runtime.storage.page_file.directory import Directory
from vlang.runtime.storage.page_file.form import ColumnInfo
from vlang.runtime.storage.page_file.page_file import PageFile
from vlang.runtime.storage.page_file.places import Extent, PageView

__all__ = ["ColumnInfo", "Directory", "Extent", "PageFile", "PageView"]
