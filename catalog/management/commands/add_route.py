"""Add a managed route or change it: `add_route ID --endpoint URL --model UPSTREAM --input-usd-per-mtok X --output-usd-per-mtok Y`."""

import json
from argparse import ArgumentParser, ArgumentTypeError
from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from catalog.actions import save_route, set_usage_quirks
from catalog.enums import UsageQuirk
from catalog.models import ModelRoute
from catalog.queries import current_rate
from catalog.rates import TIER_FORM, StatedTier, rates_document, read_tier
from common.errors import Refused
from workspaces.actors import SYSTEM


def decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ArgumentTypeError(f"{text!r} is not a number") from None


def tier(text: str) -> StatedTier:
    try:
        return read_tier(text)
    except Refused as refused:
        raise ArgumentTypeError(refused.message) from None


class Command(BaseCommand):
    help = (
        "Adds a managed route or changes it, and prints it as one JSON object. Running it again changes nothing; "
        "a changed price is a new dated price, and quotes keep the one they were made with."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("id", help="the route's ID, such as provider/model")
        parser.add_argument(
            "--endpoint", required=True, help="base address of an OpenAI-compatible API, such as https://api.example.org/v1"
        )
        parser.add_argument("--model", required=True, help="the model's name at the endpoint")
        parser.add_argument("--input-usd-per-mtok", required=True, type=decimal, help="price of a million input tokens; 0 for a free route")
        parser.add_argument("--output-usd-per-mtok", required=True, type=decimal)
        parser.add_argument("--cached-input-usd-per-mtok", type=decimal, help="default: the price of input")
        parser.add_argument(
            "--tier",
            action="append",
            default=[],
            type=tier,
            metavar=TIER_FORM.partition(" ")[0],
            help=f"price of a whole call whose input is above so many tokens, USD a million tokens: {TIER_FORM}; may be repeated",
        )
        parser.add_argument(
            "--usage-quirk",
            action="append",
            choices=UsageQuirk.values,
            help="how the endpoint counts tokens, where it differs from OpenAI; may be repeated; without it, what was set before stays",
        )
        parser.add_argument("--key-env", default="", help="name of the environment variable that holds the endpoint's key")
        parser.add_argument("--context-limit", type=int, help="tokens of prompt and answer together")
        parser.add_argument("--max-output-tokens", type=int)
        parser.add_argument("--name", help="what people read; default: the last part of the ID")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            route = save_route(
                options["id"],
                actor=SYSTEM,
                endpoint=options["endpoint"],
                model=options["model"],
                input_usd_per_mtok=options["input_usd_per_mtok"],
                output_usd_per_mtok=options["output_usd_per_mtok"],
                cached=options["cached_input_usd_per_mtok"],
                key_env=options["key_env"],
                context_limit=options["context_limit"],
                max_output_tokens=options["max_output_tokens"],
                name=options["name"],
                tiers=options["tier"],
            )
            if options["usage_quirk"]:
                route = set_usage_quirks(route, actor=SYSTEM, names=options["usage_quirk"])
        except Refused as refused:
            raise CommandError(f"{refused.code}: {refused.message}") from refused
        self.stdout.write(json.dumps(printed(route), ensure_ascii=False))


def printed(route: ModelRoute) -> dict[str, Any]:
    """The route and its current price; money in micro-USD as text."""
    rate = current_rate(route, timezone.now())
    return {
        "id": route.route_id,
        "name": route.name,
        "endpoint": route.endpoint,
        "model": route.upstream_model,
        "key_env": route.key_env,
        "context_limit": route.context_limit,
        "max_output_tokens": route.max_output_tokens,
        "pricing": rates_document(rate) if rate else None,
        "rate_id": str(rate.public_id) if rate else None,
        "priced_at": rate.effective_at.isoformat() if rate else None,
    }
