"""Edge lists and vertex ids, built from arrays or from the text that a reader scanned."""
