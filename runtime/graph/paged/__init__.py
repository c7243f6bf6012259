"""Writes page files from adjacency lists, and reads or opens them as graphs."""
