"""The tables that the checker fills for the nodes of a tree: types, levels, symbols and scopes."""
