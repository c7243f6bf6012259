"""Support for other tools: notebooks."""
