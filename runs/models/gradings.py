"""Gradings after the first: other verdicts on the same answers."""
