"""Edge lists and vertex ids, from arrays or from what a reader found."""
