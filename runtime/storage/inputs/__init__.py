"""The files to which a source named by the user refers: paths, pipes, folders and globs (`spool.py`), and remote files
(`remote.py`).
"""
