"""The canonical layout of a program text."""
