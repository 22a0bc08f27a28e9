"""Make an account with its workspace, for operators and scripts."""

import json
import sys
from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from billing.actions import grant_credit
from common.errors import Refused
from common.money import InvalidAmount, parse_usd
from workspaces.actions import create_account, create_api_key
from workspaces.actors import SYSTEM
from workspaces.enums import Scope
from workspaces.models import User


class Command(BaseCommand):
    help = (
        "Make an account whose address counts as verified, and its workspace, and print one JSON object: user_id, workspace_id, api_key "
        "(null without --api-key). The password is the first line of standard input. The workspace gets the welcome credit as any first "
        "workspace does; --credit adds to it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("email", metavar="EMAIL")
        parser.add_argument("--workspace", required=True, metavar="NAME")
        parser.add_argument("--credit", metavar="USD", help="credit to grant, in USD, beside the welcome credit")
        parser.add_argument("--api-key", action="store_true", help="also make a key with all scopes")

    def handle(self, *args: Any, **options: Any) -> None:
        email = options["email"]
        try:
            credit = parse_usd(options["credit"]) if options["credit"] else 0
        except InvalidAmount as error:
            raise CommandError(f"--credit: {error}") from None
        if credit < 0:
            raise CommandError("--credit: the amount must be above zero")
        password = self._password(email)
        try:
            with transaction.atomic():
                user, workspace = create_account(email, actor=SYSTEM, password=password, workspace_name=options["workspace"])
                if credit:
                    grant_credit(workspace, actor=SYSTEM, amount_microusd=credit, reason="Granted when the account was made")
                api_key = None
                if options["api_key"]:
                    _, api_key = create_api_key(workspace, actor=SYSTEM, label="Made with the account", scopes=Scope.values)
        except Refused as refused:
            raise CommandError(refused.message) from None
        except ValidationError as error:
            raise CommandError(f"{email}: {' '.join(error.messages)}") from None
        self.stdout.write(json.dumps({"user_id": str(user.public_id), "workspace_id": str(workspace.public_id), "api_key": api_key}))

    def _password(self, email: str) -> str:
        if sys.stdin.isatty():
            self.stderr.write("Password: ", ending="")
        password = sys.stdin.readline().rstrip("\r\n")
        if not password:
            raise CommandError("no password: write it to standard input, one line")
        try:
            validate_password(password, User(email=email))
        except ValidationError as error:  # the operator decides; people who sign up are held to it
            self.stderr.write(f"Weak password: {' '.join(error.messages)}")
        return password
