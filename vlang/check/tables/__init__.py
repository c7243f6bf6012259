"""The tables that a check fills: types, levels, symbols and scopes beside the tree."""
