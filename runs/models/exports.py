"""Exports as they were first made: a result version in one format, kept so that it never changes."""
