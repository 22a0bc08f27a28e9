"""Telling people and their programs what became of a run: rows written with the run's end, e-mail and webhooks that are made of them."""
