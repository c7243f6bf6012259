"""Scans texts of edges and vertices: the parts that all text formats share.

A reader of a text format (`formats/texts`) opens the file (source.py), takes the first lines (head.py) and describes
the lines as a `Layout` (layout.py). Then scan.py runs the kernels over all lines, edges/building/numbering.py replaces
ids by ranks, and finish.py decides the direction and writes the notes.
"""
