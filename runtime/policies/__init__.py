"""Published systems as policies of this engine: each is a set of choices of research options, with their reasons."""
