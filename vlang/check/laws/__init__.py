"""Tests whether a declared reduction is associative and commutative with its identity: by proofs, else by samples."""
