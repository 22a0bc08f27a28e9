"""Quotes, runs and their results over HTTP, and the models that can run a benchmark."""
