"""Adjacency lists, pages and cache blocks, and transformations of them."""
