"""The formats of graph files: one file and one row of a table for each format.

`table.py` has the formats that are recognised by their first bytes, and `texts/text_table.py` has the text formats,
which are recognised by their first lines. Code that reads, estimates, converts or writes a graph file finds the format
in these tables.
"""
