"""Grading again: for nothing, since the answers are there. The result stays as it was frozen; a grading has a result of its own."""
