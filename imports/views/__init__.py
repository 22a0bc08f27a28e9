"""The pages of "Import a benchmark": one module a step."""

from imports.views.checking import cancellation, check, problems
from imports.views.create import create
from imports.views.drafts import discard, draft, duplicate
from imports.views.github import fetch_github
from imports.views.grading import grading
from imports.views.health import health
from imports.views.hub import fetch
from imports.views.integrations import connect, disconnection, integrations, returned
from imports.views.mapping import mapping
from imports.views.preview import preview
from imports.views.recorded import recorded, recorded_archiving, recorded_files, recorded_model, recorded_of_benchmark
from imports.views.rights import rights
from imports.views.source import abandon, choose, source, upload

__all__ = [
    "abandon",
    "cancellation",
    "check",
    "choose",
    "connect",
    "create",
    "discard",
    "disconnection",
    "draft",
    "duplicate",
    "fetch",
    "fetch_github",
    "grading",
    "health",
    "integrations",
    "mapping",
    "preview",
    "problems",
    "recorded",
    "recorded_archiving",
    "recorded_files",
    "recorded_model",
    "recorded_of_benchmark",
    "returned",
    "rights",
    "source",
    "upload",
]
