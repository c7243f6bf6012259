"""Converts files and generators to page files within a memory budget: edges and temporary arrays are on disk.

edges.py has the list of edges, entries.py sorts edges by row, disk_ids.py numbers ids that do not fit in memory, and
convert.py runs the whole conversion.
"""
