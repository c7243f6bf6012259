"""What a check fills in: types, levels, symbols and scopes beside the tree."""
