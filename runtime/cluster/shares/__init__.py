"""Reading of files and generators by shares: each rank reads a part, and sends edges to the ranks that own them."""
