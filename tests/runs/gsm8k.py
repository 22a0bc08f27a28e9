"""The GSM8K test set as a private benchmark, and the recorded outputs of four models behind a stand-in: what the numbers must be."""

from pathlib import Path
from typing import Any

from billing.actions import grant_credit
from catalog.models import BenchmarkVersion
from imports.actions import import_benchmark
from tests import factories
from workspaces.actors import SYSTEM, Actor
from workspaces.models import Workspace

TASKS = 1_319
RIGHT = {"6b_finetuning": 286, "6b_verification": 515, "175b_finetuning": 458, "175b_verification": 742}
MANIFEST: dict[str, Any] = {
    "name": "GSM8K",
    "task": "numeric",
    "columns": {"question": "question", "answer": "answer"},
    "answer_pattern": r"####\s*(.+)",
    "prompt_template": "{question}",
    "max_output_tokens": 400,
    "data_license": "MIT",
    "rights_attestation": True,
}


def outputs(shared: Path) -> Path:
    return shared / "data" / "gsm8k" / "example_model_solutions.jsonl"


def import_gsm8k(workspace: Workspace, *, actor: Actor, shared: Path) -> BenchmarkVersion:
    """The 1,319 questions as a private numeric benchmark."""
    with (shared / "data" / "gsm8k" / "test.jsonl").open("rb") as file:
        return import_benchmark(workspace, actor=actor, file=file, filename="test.jsonl", manifest=MANIFEST)


def gsm8k_request(version: BenchmarkVersion, *, endpoint: str, workspace: Workspace, **more: Any) -> dict[str, Any]:
    """A full run of the four models, each a priced route to the stand-in; the workspace gets credit for it."""
    grant_credit(workspace, actor=SYSTEM, amount_microusd=20_000_000, reason="for the test")
    routes = [factories.make_route(f"recorded/{model}", endpoint=endpoint, model=model) for model in RIGHT]
    return {
        "subjects": [{"kind": "managed", "route_id": route.route_id} for route in routes],
        "selection": {"profile_ids": [version.profile_id]},
        "coverage": {"mode": "full"},
        "concurrency": 64,
        **more,
    }
