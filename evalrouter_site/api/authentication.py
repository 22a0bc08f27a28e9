"""Stub, replaced by the API."""
from rest_framework.authentication import BaseAuthentication
from rest_framework.authentication import SessionAuthentication as DrfSessionAuthentication


class KeyAuthentication(BaseAuthentication):
    def authenticate(self, request):
        return None


class SessionAuthentication(DrfSessionAuthentication):
    pass
