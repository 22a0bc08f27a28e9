"""What a managed route may be like."""

import re
from urllib.parse import urlsplit

from common.errors import Refused


def check_route(route_id: str, endpoint: str, model: str, key_env: str, context_limit: int | None, max_output_tokens: int | None) -> None:
    """Raise Refused (`invalid_route`, `invalid_endpoint`) unless a route may be like this."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._:@/+-]{0,119}", route_id):
        raise Refused("invalid_route", "A route's ID is made of letters, digits and . _ : @ / + -, such as provider/model.")
    if not model.strip() or len(model) > 200:
        raise Refused("invalid_route", "The upstream model needs a name of at most 200 characters.")
    if key_env and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,79}", key_env):
        raise Refused("invalid_route", "key_env is the name of an environment variable, never the key itself.")
    if any(limit is not None and limit < 1 for limit in (context_limit, max_output_tokens)):
        raise Refused("invalid_route", "Limits are whole numbers of at least 1.")
    try:
        parts = urlsplit(endpoint)
        is_usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable or len(endpoint) > 500 or any(character.isspace() for character in endpoint):
        raise Refused("invalid_endpoint", "The endpoint must be an http or https address.")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise Refused("invalid_endpoint", "The endpoint must hold no credentials, query or fragment; the key comes from key_env.")
