"""Expressions and reductions of the tree lowered to the IR."""
