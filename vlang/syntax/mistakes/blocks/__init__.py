"""Lines of other languages that a rule can only translate together: loops over neighbours, queries, functions."""
