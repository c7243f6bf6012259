"""Edge lists and vertex ids, built from arrays or from scanned text."""
