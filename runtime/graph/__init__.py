"""Graphs: reading, generating, building, saving; adjacency lists with edge columns, and their pages."""
