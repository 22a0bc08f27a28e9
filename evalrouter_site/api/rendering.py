"""Stub, replaced by the API."""
from rest_framework.renderers import JSONRenderer  # noqa: F401
