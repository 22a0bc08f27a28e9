"""Stub, replaced by the API."""
from rest_framework.throttling import BaseThrottle


class ApiThrottle(BaseThrottle):
    def allow_request(self, request, view):
        return True
