"""Support for editors and notebooks: colours, a language server, a cell magic."""
