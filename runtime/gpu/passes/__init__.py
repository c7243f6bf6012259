"""State, scratch memory and measured rates for passes on a GPU."""
