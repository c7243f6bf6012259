"""The legality rules (language.md 10.3), one module for each family of rules; every verdict carries its reason."""
