"""Names and calls of other languages, and what to write in vlang instead."""
