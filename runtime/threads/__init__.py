"""Worker threads over disjoint ranges, and tasks that run to their end even if an interrupt arrives."""
