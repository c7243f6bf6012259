"""Tests by proofs or samples whether a declared reduction is associative and commutative, and has the declared
identity.
"""
