"""Stub, replaced by the API."""
from rest_framework.views import exception_handler  # noqa: F401
