"""The layout of the values of runs that share their reads of the edges (vlang.runtime.cpu.together)."""

WIDTH = 16
"""Runs in a row: entry WIDTH * v + i of a woven array is the value of run i at vertex v."""
