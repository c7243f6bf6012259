"""Files and generators to page files, within a memory budget: edges and temporary arrays are on the disk.

`edges` is the list of edges, `entries` sorts them by row, `ids` numbers ids that do not fit in memory, and `convert` is
the whole way from a source to a page file.
"""
