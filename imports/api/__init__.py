"""Imports over HTTP, one module a thing."""
