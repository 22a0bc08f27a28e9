"""Stub, replaced by the API."""
from drf_spectacular.openapi import AutoSchema  # noqa: F401
