"""The demo's way to the product: its public HTTP API, with a key, as any script would use it."""

import json
import urllib.error
import urllib.request
from typing import Any


class ApiError(Exception):
    """The API refused; `code` and `status` are its own."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class Api:
    """Calls below `base_url`, which ends in `/v1`."""

    def __init__(self, base_url: str, api_key: str, *, timeout: float = 60) -> None:
        self.base_url = base_url
        self.api_key = api_key
        self.timeout = timeout

    def get(self, path: str) -> dict[str, Any]:
        return self._send("GET", path, None)

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return self._send("POST", path, body)

    def _send(self, method: str, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        """The answer's document. Raises ApiError, and OSError when nothing answers."""
        request = urllib.request.Request(  # noqa: S310
            f"{self.base_url}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}),
        )
        try:
            with _direct.open(request, timeout=self.timeout) as answer:
                document = json.load(answer)
        except urllib.error.HTTPError as error:
            raise _refusal(error) from None
        return document if isinstance(document, dict) else {"data": document}


_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Never through a proxy: it talks to this machine."""


def _refusal(error: urllib.error.HTTPError) -> ApiError:
    try:
        refusal = json.load(error)["error"]
        return ApiError(error.code, str(refusal["code"]), str(refusal["message"]))
    except (ValueError, KeyError, TypeError):
        return ApiError(error.code, "unknown", f"status {error.code}")
