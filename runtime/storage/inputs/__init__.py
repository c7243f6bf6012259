"""The files behind what a user names: paths, pipes, folders and globs (`spool.py`), and remote files (`remote.py`)."""
