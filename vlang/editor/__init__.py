"""What editors and notebooks need: colours, a language server, a cell magic."""
