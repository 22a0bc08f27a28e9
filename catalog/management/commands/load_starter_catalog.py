"""Publish the starter catalog: `manage.py load_starter_catalog`."""

from typing import Any

from django.core.management.base import BaseCommand

from catalog.actions import keep_published
from catalog.starter import STARTERS
from workspaces.actors import SYSTEM


class Command(BaseCommand):
    help = (
        "Publishes the benchmarks that come with the product as public ones. Running it again changes nothing; "
        "a benchmark whose content changed gets its next version."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        for starter in STARTERS:
            version, is_new = keep_published(starter.slug, actor=SYSTEM, manifest=starter.manifest(), rows=starter.rows())
            self.stdout.write(f"{version.profile_id}: {version.task_count} tasks, {'published' if is_new else 'as it was'}")
