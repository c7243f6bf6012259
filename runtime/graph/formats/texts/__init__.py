"""The text formats of edges: one file for each format, and one row in text_table.py."""
