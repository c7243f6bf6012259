"""Laws of declared reductions: associative, commutative, with an identity; proved, searched or sampled."""
