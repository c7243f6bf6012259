"""Objects that are derived from a graph: parts of the graph, and its edges in the types of other libraries."""
