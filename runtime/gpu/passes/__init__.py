"""State, scratch and measured rates of passes on a GPU."""
