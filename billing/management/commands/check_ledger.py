"""Recompute every balance, hold and budget from its parts."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from billing.checking import ledger_differences


class Command(BaseCommand):
    help = "Recompute balances, holds and budgets from the ledger; exits 1 with the differences."

    def handle(self, *args: Any, **options: Any) -> None:
        differences = ledger_differences()
        for difference in differences:
            self.stderr.write(str(difference))
        if differences:
            raise CommandError("1 difference" if len(differences) == 1 else f"{len(differences)} differences")
        self.stdout.write("The books add up.")
