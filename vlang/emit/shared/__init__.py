"""The writers of code that both targets share."""
