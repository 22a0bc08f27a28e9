"""Asking for pages: as a whole, as htmx does, and counting what they cost."""

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

HTMX = {"HX-Request": "true"}


def cost(client: Client, path: str) -> int:
    """How many queries the page takes once it is warm."""
    client.get(path)
    with CaptureQueriesContext(connection) as queries:
        client.get(path)
    return len(queries)
