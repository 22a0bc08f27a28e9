"""From the names of a request to the rows they mean: benchmark versions and subjects, as this workspace sees them now."""

from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.utils import timezone

from catalog import queries as catalog
from catalog.enums import RouteState
from catalog.models import BenchmarkVersion, ModelRoute, RouteRate
from common.errors import Refused
from common.ids import parse_uuid
from gateway import queries as gateway
from gateway.baselines import NAMES as BASELINES
from gateway.metering import FREE, Price
from gateway.models import Connection, RecordedModel
from gateway.pricing import price_of
from runs.enums import SubjectKind
from runs.requests import QuoteRequest, SubjectRequest
from workspaces.models import Workspace


@dataclass(frozen=True, slots=True)
class ResolvedSubject:
    """A model that will be asked, with the price it is asked at."""

    kind: SubjectKind
    label: str
    reasoning: dict[str, Any] = field(default_factory=dict)
    reasoning_source: str = "route_default"
    route: ModelRoute | None = None
    rate: RouteRate | None = None
    connection: Connection | None = None
    baseline: str = ""
    seed: int = 0
    recorded: RecordedModel | None = None

    price: Price = FREE
    """The managed price with the platform fee; free for connections, baselines and recorded models."""

    def reference(self) -> dict[str, Any]:
        """The subject as the API names it."""
        if self.route is not None:
            return {"kind": "managed", "route_id": self.route.route_id}
        if self.connection is not None:
            return {"kind": "connection", "connection_id": str(self.connection.public_id), "name": self.connection.name}
        if self.recorded is not None:
            return {"kind": "recorded", "recorded_model_id": str(self.recorded.public_id), "name": self.recorded.name}
        return {"kind": "baseline", "name": self.baseline, "seed": self.seed}


def resolve_versions(workspace: Workspace, request: QuoteRequest) -> list[BenchmarkVersion]:
    """The versions that a request names, each once. Raises Refused `ambiguous_benchmark`, `benchmark_not_found`, `benchmark_retired`,
    `benchmark_named_twice`.
    """
    versions = [_version(workspace, name) for name in request.benchmarks]
    ids = [version.profile_id for version in versions]
    for version in versions:
        if ids.count(version.profile_id) > 1:
            raise Refused("benchmark_named_twice", f"{version.profile_id} is named twice. Name each benchmark version once.")
        check_quotable(version)
    return versions


def _version(workspace: Workspace, name: str) -> BenchmarkVersion:
    found = catalog.find_versions(workspace, name)
    if not found:
        closest = catalog.closest_names(workspace, name)
        hint = f" Did you mean {', '.join(closest)}?" if closest else ""
        raise Refused("benchmark_not_found", f"There is no benchmark {name!r}.{hint}", details={"closest": closest})
    if len(found) > 1:
        candidates = [version.profile_id for version in found]
        raise Refused(
            "ambiguous_benchmark",
            f"{name!r} names several benchmarks: {', '.join(candidates)}. Name one by its ID.",
            details={"candidates": candidates},
        )
    return found[0]


def check_quotable(version: BenchmarkVersion) -> None:
    """Raise Refused unless new quotes of the version may be made."""
    if version.state != "active" or version.benchmark.archived_at is not None:
        raise Refused("benchmark_retired", f"{version.profile_id} takes no new runs. Earlier results stay; choose another version.")


def resolve_subjects(workspace: Workspace, request: QuoteRequest, version: BenchmarkVersion) -> list[ResolvedSubject]:
    """The subjects in the order asked for; the name of a recorded model means that of the version.

    Raises Refused `model_not_found`, `ambiguous_model`, `connection_unchecked`,
    `route_unavailable`, `duplicate_subject`.
    """
    resolved = [_resolve(workspace, each, request.reasoning, version) for each in request.subjects]
    seen: set[str] = set()
    for subject in resolved:
        identity = f"{subject.reference()} {subject.reasoning}"
        if identity in seen:
            raise Refused("duplicate_subject", f"{subject.label} is named twice with the same settings.")
        seen.add(identity)
    return _told_apart(resolved)


def _told_apart(subjects: list[ResolvedSubject]) -> list[ResolvedSubject]:
    """Labels made unique by the settings that differ."""
    labels = [subject.label for subject in subjects]
    told = []
    for subject in subjects:
        if labels.count(subject.label) > 1:
            setting = next(iter(subject.reasoning.values()), None) if subject.reasoning else subject.seed if subject.baseline else "default"
            subject = replace(subject, label=f"{subject.label} ({setting})")
        told.append(subject)
    return told


def _resolve(workspace: Workspace, asked: SubjectRequest, default_reasoning: dict[str, Any], version: BenchmarkVersion) -> ResolvedSubject:
    reasoning = default_reasoning if asked.reasoning is None else asked.reasoning
    source = "request" if reasoning else "route_default"
    kind, name = asked.kind, asked.name
    if kind is None and name in BASELINES:
        kind = SubjectKind.BASELINE
    if kind is None and name.startswith("connection:"):
        kind, name = SubjectKind.CONNECTION, name.removeprefix("connection:")
    if kind is None and name.startswith("recorded:"):
        kind, name = SubjectKind.RECORDED, name.removeprefix("recorded:")
    if kind == SubjectKind.BASELINE:
        if name not in BASELINES:
            raise Refused(
                "model_not_found", f"There is no baseline {name!r}; there are {', '.join(BASELINES)}.", details={"closest": list(BASELINES)}
            )
        return ResolvedSubject(kind, name, baseline=name, seed=asked.seed)
    if kind == SubjectKind.RECORDED:
        recorded = _recorded(workspace, name, version)
        return ResolvedSubject(kind, recorded.name, recorded=recorded)
    if kind == SubjectKind.CONNECTION:
        connection = _connection(workspace, name)
        return ResolvedSubject(kind, connection.name, reasoning, source, connection=connection)
    route = _route(workspace, name)
    rate = catalog.current_rate(route, timezone.now())
    if rate is None:
        raise Refused("route_unavailable", f"{route.route_id} has no price yet, so it cannot be quoted.")
    price = price_of(rate, Decimal(0) if rate.is_free else settings.PLATFORM_FEE_PERCENT)
    return ResolvedSubject(SubjectKind.MANAGED, route.route_id, reasoning, source, route=route, rate=rate, price=price)


def _connection(workspace: Workspace, name: str) -> Connection:
    known = list(gateway.connections_for(workspace))
    wanted = parse_uuid(name)
    for connection in known:
        if connection.public_id == wanted or connection.name == name:
            if connection.checked_at is None:
                raise Refused(
                    "connection_unchecked",
                    f"The connection {connection.name!r} has not been checked since it was made or changed. Check it first.",
                    details={"connection_id": str(connection.public_id)},
                )
            return connection
    raise Refused(
        "model_not_found", f"There is no connection {name!r} in this workspace.", details={"closest": [each.name for each in known][:5]}
    )


def _recorded(workspace: Workspace, name: str, version: BenchmarkVersion) -> RecordedModel:
    """The recorded model of that ID or name: the version's own where there is one, else another version's, to be refused as that."""
    found = min(gateway.find_recorded_models(workspace, name), key=lambda model: model.version_id != version.pk, default=None)
    if found is not None:
        return found
    known = gateway.recorded_models_for(workspace).filter(version=version).values_list("name", flat=True)
    raise Refused(
        "model_not_found",
        f"There are no recorded answers {name!r} in this workspace, or they are archived.",
        details={"closest": list(known[:5])},
    )


def _route(workspace: Workspace, name: str) -> ModelRoute:
    found = [route for route in catalog.find_routes(name) if route.state == RouteState.ACTIVE]
    if len(found) == 1:
        return found[0]
    if found:
        candidates = [route.route_id for route in found]
        raise Refused(
            "ambiguous_model",
            f"{name!r} names several models: {', '.join(candidates)}. Name one by its ID.",
            details={"candidates": candidates},
        )
    by_name = [each for each in gateway.connections_for(workspace) if each.name == name]
    hint = f" There is a connection of that name: write connection:{name}." if by_name else ""
    closest = catalog.closest_routes(name)
    if closest and not hint:
        hint = f" Did you mean {', '.join(closest)}?"
    raise Refused("model_not_found", f"There is no model {name!r}.{hint}", details={"closest": closest})
