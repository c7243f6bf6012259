"""What `Graph` hands out of itself: parts of a graph, and its edges in the types of other libraries."""
