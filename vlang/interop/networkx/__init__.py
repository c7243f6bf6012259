"""The backend of NetworkX: `networkx.pagerank(graph, backend="vlang")`.

`table.py` has one row for each function. NetworkX finds `backend.py` and `info.py` through the entry points in
pyproject.toml; importing vlang loads none of these modules, and importing NetworkX loads only `info.py` and `table.py`.
"""
