"""Bridges to other tools: notebooks."""
