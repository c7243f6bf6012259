"""Recovery from syntax errors, and messages that explain them."""
