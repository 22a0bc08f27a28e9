"""Makers of rows for tests. Each takes what matters to the test and fills in the rest; amounts are micro-USD.

Where an action exists the maker calls it, so that tests stand on rows as the product writes them.
"""

import itertools
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from django.utils import timezone

from billing.enums import EntryKind
from billing.models import LedgerEntry, Wallet
from catalog.enums import Grader, VersionState
from catalog.models import Benchmark, BenchmarkVersion, ModelRoute, Provider, RouteRate, Task, TaskContent
from common.canonical import canonical_json, sha256_text
from gateway.models import Connection
from workspaces.enums import Role
from workspaces.models import Membership, User, Workspace

PASSWORD = "correct horse battery"
_numbers = itertools.count(1)


def make_user(email: str | None = None, *, workspace: Workspace | None = None, role: Role = Role.MEMBER, **fields: Any) -> User:
    """A person whose address is verified and whose password is `PASSWORD`, with that role in the workspace."""
    user = User.objects.create_user(email or f"person{next(_numbers)}@example.org", PASSWORD, **fields)
    user.emailaddress_set.create(email=user.email, verified=True, primary=True)  # type: ignore[attr-defined]
    if workspace is not None:
        Membership.objects.create(workspace=workspace, user=user, role=role)
    return user


def make_workspace(name: str = "Workspace", *, credit: int = 0, owner: User | None = None) -> Workspace:
    """A workspace with its wallet; the credit stands in the ledger as an adjustment."""
    workspace = Workspace.objects.create(name=name, created_by=owner)
    if owner is not None:
        Membership.objects.create(workspace=workspace, user=owner, role=Role.OWNER)
    wallet = Wallet.objects.create(workspace=workspace, balance_microusd=credit)
    if credit:
        LedgerEntry.objects.create(
            wallet=wallet,
            kind=EntryKind.ADJUSTMENT,
            amount_microusd=credit,
            balance_after_microusd=credit,
            source="test",
            idempotency_key=f"test:{workspace.public_id}",
        )
    return workspace


def make_benchmark(slug: str | None = None, *, workspace: Workspace | None = None, **fields: Any) -> Benchmark:
    """A benchmark without versions: public, or private to the workspace."""
    slug = slug or (f"byob-{next(_numbers):012x}" if workspace else f"sums-{next(_numbers)}")
    return Benchmark.objects.create(slug=slug, workspace=workspace, **{"name": slug, "category": "reasoning", **fields})


def make_version(
    benchmark: Benchmark | None = None,
    *,
    tasks: int = 10,
    workspace: Workspace | None = None,
    grader: str = Grader.NUMERIC,
    grader_options: Mapping[str, Any] | None = None,
    rows: Sequence[Mapping[str, Any]] | None = None,
    max_output_tokens: int = 64,
    state: str = VersionState.ACTIVE,
    **fields: Any,
) -> BenchmarkVersion:
    """An active version. Without `rows` its tasks ask "What is n + n?" (task IDs "t0", "t1", …) and expect 2n.

    A row: {"values": {"question": …}, "reference": …} and, where wanted, "task_id", "group", "cluster", "metadata".
    """
    benchmark = benchmark or make_benchmark(workspace=workspace)
    rows = rows if rows is not None else [{"values": {"question": f"What is {n} + {n}?"}, "reference": str(2 * n)} for n in range(tasks)]
    number = benchmark.versions.count() + 1
    manifest: dict[str, Any] = {
        "schema": "evalrouter.manifest.v1",
        "name": benchmark.name,
        "description": benchmark.description,
        "category": benchmark.category,
        "grader": str(grader),
        "grader_options": dict(grader_options or {}),
        "prompt_template": "{question}",
        "system_prompt": None,
        "roles": ["question"],
        "choices": any("choices" in row["values"] for row in rows),
        "max_output_tokens": max_output_tokens,
        "export_policy": "full",
        "metrics": [{"metric": "accuracy", "name": "Accuracy"}],
        "few_shot": 0,
        "attempts": 1,
        "temperature": 0,
        "tasks": {"count": len(rows), "sha256": sha256_text(str(len(rows)))},
        "delivery": {"receives": ["question"], "never_receives": ["reference"], "grader": "The last number is compared."},
    }
    text = canonical_json(manifest)
    version = BenchmarkVersion.objects.create(
        benchmark=benchmark,
        number=number,
        state=state,
        manifest=text,
        sha256=sha256_text(text),
        grader=grader,
        max_output_tokens=max_output_tokens,
        task_count=len(rows),
        longest_prompt_bytes=max((len(str(row["values"]["question"]).encode()) for row in rows), default=0),
        has_groups=any(row.get("group") for row in rows),
        has_clusters=any(row.get("cluster") for row in rows),
        published_at=timezone.now() if state == VersionState.ACTIVE else None,
        **fields,
    )
    made = Task.objects.bulk_create(
        Task(
            version=version,
            ordinal=ordinal,
            task_id=row.get("task_id", f"t{ordinal}"),
            group=row.get("group", ""),
            cluster=row.get("cluster", ""),
            prompt_bytes=len(str(row["values"]["question"]).encode()),
            metadata=row.get("metadata", {}),
        )
        for ordinal, row in enumerate(rows)
    )
    TaskContent.objects.bulk_create(
        TaskContent(task=task, values=row["values"], reference=row["reference"]) for task, row in zip(made, rows, strict=True)
    )
    return version


def make_route(
    route_id: str | None = None,
    *,
    endpoint: str = "http://127.0.0.1:9/v1",
    model: str = "upstream-model",
    input_rate: int = 400_000,
    cached_input_rate: int | None = None,
    output_rate: int = 1_600_000,
    **fields: Any,
) -> ModelRoute:
    """An active managed route with one rate; rates are micro-USD a million tokens, 0 for a free route."""
    route_id = route_id or f"example/model-{next(_numbers)}"
    provider, _ = Provider.objects.get_or_create(slug=route_id.partition("/")[0], defaults={"name": "Example"})
    route = ModelRoute.objects.create(
        route_id=route_id,
        provider=provider,
        **{"name": route_id.rpartition("/")[2], "endpoint": endpoint, "upstream_model": model, "capabilities": ["chat"], **fields},
    )
    make_rate(route, input_rate=input_rate, cached_input_rate=cached_input_rate, output_rate=output_rate)
    return route


def make_rate(route: ModelRoute, *, input_rate: int, output_rate: int, cached_input_rate: int | None = None) -> RouteRate:
    """A price of the route that holds from now on."""
    return RouteRate.objects.create(
        route=route,
        input_microusd_per_mtok=Decimal(input_rate),
        cached_input_microusd_per_mtok=Decimal(input_rate if cached_input_rate is None else cached_input_rate),
        output_microusd_per_mtok=Decimal(output_rate),
    )


def make_connection(
    workspace: Workspace,
    *,
    name: str | None = None,
    endpoint: str = "http://127.0.0.1:9/v1",
    model: str = "own-model",
    api_key: str = "",
    checked: bool = True,
    **fields: Any,
) -> Connection:
    """The workspace's own endpoint; checked unless said otherwise, its key encrypted."""
    secret = ""
    if api_key:
        from common.crypto import encrypt

        secret = encrypt(api_key)
    return Connection.objects.create(
        workspace=workspace,
        name=name or f"endpoint {next(_numbers)}",
        endpoint=endpoint,
        model=model,
        secret=secret,
        checked_at=timezone.now() if checked else None,
        **fields,
    )
