"""Support for editors: syntax colouring, help texts and a language server."""
