"""`manage.py import_benchmark FILE --workspace ID --manifest FILE`: a private benchmark from a data file."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from common.errors import Refused
from common.ids import parse_uuid
from imports.actions import check_benchmark, import_benchmark
from imports.manifests import read_manifest
from workspaces.actors import SYSTEM
from workspaces.models import Workspace


class Command(BaseCommand):
    help = "Make a private benchmark from a JSON Lines, CSV or Parquet file. Prints one JSON object with its id."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="the data file, at most 64 MiB and 100,000 rows")
        parser.add_argument("--workspace", required=True, help="the workspace's ID")
        parser.add_argument("--manifest", required=True, type=Path, help="the manifest, a JSON file")
        parser.add_argument("--dry-run", action="store_true", help="check every row and create nothing")

    def handle(self, *, file: Path, workspace: str, manifest: Path, dry_run: bool, **_options: Any) -> None:
        public_id = parse_uuid(workspace)
        owner = Workspace.objects.filter(public_id=public_id).first() if public_id else None
        if owner is None:
            raise CommandError(f"not_found: there is no workspace {workspace}")
        try:
            wanted = read_manifest(manifest.read_bytes())
            with file.open("rb") as opened:
                if dry_run:
                    printed = check_benchmark(owner, actor=SYSTEM, file=opened, filename=file.name, manifest=wanted).document()
                else:
                    version = import_benchmark(owner, actor=SYSTEM, file=opened, filename=file.name, manifest=wanted)
                    source = json.loads(version.manifest)["source"]
                    printed = {
                        "id": version.profile_id,
                        "rows": version.task_count,
                        "sha256": version.sha256,
                        "warnings": source["warnings"],
                    }
        except OSError as error:
            raise CommandError(f"{error.filename}: {error.strerror}") from None
        except Refused as refused:
            raise CommandError(_described(refused)) from None
        self.stdout.write(json.dumps(printed, ensure_ascii=False))


def _described(refused: Refused) -> str:
    """The code and the message, then every row that was listed."""
    listed = refused.details.get("rows", [])
    rows = [f"  row {row['row']}{f' (line {row["line"]})' if 'line' in row else ''}: {row['message']}" for row in listed]
    return "\n".join([f"{refused.code}: {refused.message}", *rows])
