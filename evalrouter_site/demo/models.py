"""Looking for a model to compare with the baselines: the one that the environment names, else one that runs on this machine."""

import ipaddress
import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from urllib.parse import urlsplit

from evalrouter_site.env import env_str

LOCAL_ENDPOINT = "http://127.0.0.1:11434/v1"
OPENAI_ENDPOINT = "https://api.openai.com/v1"
PREFERRED = ("gpt-4.1-mini", "gpt-4o-mini")
NO_CHAT = ("embed", "whisper", "tts", "dall-e", "moderation", "audio", "realtime", "transcribe", "image", "rerank")


@dataclass(frozen=True, slots=True)
class FoundModel:
    """An OpenAI-compatible model that answers."""

    endpoint: str
    model: str
    api_key: str

    @property
    def is_private(self) -> bool:
        """Whether the endpoint is on this machine or in a private network, which connections may name only when allowed."""
        host = urlsplit(self.endpoint).hostname or ""
        try:
            return not ipaddress.ip_address(host).is_global
        except ValueError:
            return host == "localhost" or host.endswith(".localhost") or "." not in host


def find_model() -> FoundModel | None:
    """The model that OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL name, else one served on port 11434; None where none answers."""
    key, named = env_str("OPENAI_API_KEY"), env_str("OPENAI_BASE_URL")
    endpoint = (named or (OPENAI_ENDPOINT if key else LOCAL_ENDPOINT)).rstrip("/")
    model = env_str("OPENAI_MODEL") if key or named else ""
    model = model or choose(_listed(endpoint, key))
    return FoundModel(endpoint, model, key) if model else None


def choose(names: list[str]) -> str:
    """A chat model of those listed: a small well-known one, else the first that does not look like something else; "" for none."""
    for name in PREFERRED:
        if name in names:
            return name
    return next((name for name in names if not any(word in name.lower() for word in NO_CHAT)), "")


def _listed(endpoint: str, key: str) -> list[str]:
    """The model names that the endpoint lists; none where it does not answer in time."""
    request = urllib.request.Request(f"{endpoint}/models", headers={"Authorization": f"Bearer {key}"} if key else {})  # noqa: S310
    if urlsplit(endpoint).scheme not in {"http", "https"}:
        return []
    try:
        with urllib.request.urlopen(request, timeout=3) as answer:  # noqa: S310
            listed = json.loads(answer.read(1_000_000))["data"]
        return [str(entry["id"]) for entry in listed]
    except (OSError, ValueError, KeyError, TypeError, urllib.error.HTTPError):
        return []
