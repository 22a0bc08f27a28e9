"""Makers of rows for tests. Each takes what matters to the test and fills in the rest; amounts are micro-USD.

Where an action exists the maker calls it, so that tests stand on rows as the product writes them.
"""

import itertools
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from typing import Any

from django.utils import timezone

from billing.enums import EntryKind
from billing.models import LedgerEntry, Wallet
from catalog.actions import publish_version
from catalog.enums import Grader, VersionState
from catalog.manifests import TaskRow, build_manifest
from catalog.models import Benchmark, BenchmarkVersion, ModelRoute, Provider, RouteRate, RouteRateTier
from common.crypto import encrypt
from gateway.models import Connection, RecordedAnswer, RecordedModel
from workspaces.actions import create_api_key
from workspaces.actors import SYSTEM
from workspaces.enums import Role, Scope
from workspaces.models import ApiKey, Membership, User, Workspace

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


def make_key(workspace: Workspace, *, scopes: Collection[str] = tuple(Scope), **fields: Any) -> tuple[ApiKey, str]:
    """An API key with every scope unless said otherwise, and its text for `Authorization: Bearer`."""
    return create_api_key(workspace, actor=SYSTEM, label=fields.pop("label", "test"), scopes=[str(scope) for scope in scopes], **fields)


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
    state: str = VersionState.ACTIVE,
    **manifest: Any,
) -> BenchmarkVersion:
    """A published version. Without `rows` its tasks ask "What is n + n?" (task IDs "t0", "t1", …) and expect 2n.

    A row: {"values": {"question": …}, "reference": …} and, where wanted, "task_id", "group", "cluster", "metadata". More names go to
    the manifest, such as `max_output_tokens`, `license`, `export_policy`.
    """
    benchmark = benchmark or make_benchmark(workspace=workspace)
    if rows is None:
        rows = [{"values": {"question": f"What is {n} + {n}?"}, "reference": str(2 * n)} for n in range(tasks)]
    with_choices = any("choices" in row["values"] for row in rows)
    wanted = {
        "name": benchmark.name,
        "description": benchmark.description,
        "category": benchmark.category,
        "prompt_template": "{question}\n{choices}" if with_choices else "{question}",
        "roles": ["question"],
        "max_output_tokens": 64,
        **manifest,
    }
    version = publish_version(
        benchmark,
        actor=SYSTEM,
        manifest=build_manifest(grader=grader, grader_options=grader_options, **wanted),
        rows=(
            TaskRow(
                task_id=row.get("task_id", f"t{ordinal}"),
                values=dict(row["values"]),
                reference=row["reference"],
                group=row.get("group", ""),
                cluster=row.get("cluster", ""),
                metadata=row.get("metadata", {}),
            )
            for ordinal, row in enumerate(rows)
        ),
    )
    if state != VersionState.ACTIVE:
        version.state = state
        version.save(update_fields=["state"])
    return version


type TierRow = tuple[int, int, int, int]
"""Above how many input tokens, and the rates of input, cached input and output."""


def make_route(
    route_id: str | None = None,
    *,
    endpoint: str = "http://127.0.0.1:9/v1",
    model: str = "upstream-model",
    input_rate: int = 400_000,
    cached_input_rate: int | None = None,
    output_rate: int = 1_600_000,
    tiers: Sequence[TierRow] = (),
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
    make_rate(route, input_rate=input_rate, cached_input_rate=cached_input_rate, output_rate=output_rate, tiers=tiers)
    return route


def make_rate(
    route: ModelRoute, *, input_rate: int, output_rate: int, cached_input_rate: int | None = None, tiers: Sequence[TierRow] = ()
) -> RouteRate:
    """A price of the route that holds from now on."""
    rate = RouteRate.objects.create(
        route=route, **_rates(input_rate, input_rate if cached_input_rate is None else cached_input_rate, output_rate)
    )
    RouteRateTier.objects.bulk_create(RouteRateTier(rate=rate, above_input_tokens=above, **_rates(*rates)) for above, *rates in tiers)
    return rate


def _rates(input_rate: int, cached_input_rate: int, output_rate: int) -> dict[str, Decimal]:
    return {
        "input_microusd_per_mtok": Decimal(input_rate),
        "cached_input_microusd_per_mtok": Decimal(cached_input_rate),
        "output_microusd_per_mtok": Decimal(output_rate),
    }


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
    return Connection.objects.create(
        workspace=workspace,
        name=name or f"endpoint {next(_numbers)}",
        endpoint=endpoint,
        model=model,
        secret=encrypt(api_key) if api_key else "",
        checked_at=timezone.now() if checked else None,
        **fields,
    )


def make_recorded_model(
    version: BenchmarkVersion, answers: Mapping[str, str], *, workspace: Workspace, name: str = "old-model"
) -> RecordedModel:
    """Answers by task ID that a model once gave to the version's tasks, all recorded as ended by themselves and without an old verdict."""
    model = RecordedModel.objects.create(
        workspace=workspace, version=version, name=name, source={"format": "predictions", "file": "old.jsonl"}, answer_count=len(answers)
    )
    tasks = dict(version.tasks.filter(task_id__in=answers).values_list("task_id", "pk"))
    RecordedAnswer.objects.bulk_create(
        RecordedAnswer(model=model, task_id=tasks[task_id], text=text, finish_reason="stop") for task_id, text in answers.items()
    )
    return model
