"""Page files of graphs in memory: written from adjacency lists, and read back."""
