"""The execution ways of loops on a GPU, and full passes."""
