"""`compute_health`: the health of every published version that has none yet, or of the versions named."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from catalog.models import BenchmarkVersion
from catalog.queries import split_profile_id
from imports.actions.health import compute_missing_health
from imports.recording import record_health
from workspaces.actors import SYSTEM


class Command(BaseCommand):
    help = "Compute the health of benchmark versions: of all that have none yet, or again of those named."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("versions", nargs="*", metavar="SLUG@NUMBER")

    def handle(self, *args: Any, **options: Any) -> None:
        for name in options["versions"]:
            slug, number = split_profile_id(name)
            version = BenchmarkVersion.objects.select_related("benchmark").filter(benchmark__slug=slug, number=number or 0).first()
            if version is None:
                raise CommandError(f"There is no version {name}.")
            record_health(version)
        computed = len(options["versions"])
        while not options["versions"] and (done := compute_missing_health(actor=SYSTEM)):
            computed += done
        self.stdout.write(f"{computed} computed.")
