"""Words and signs of other languages within a line, which are spelled differently here."""
