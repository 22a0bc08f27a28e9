"""The managed models over HTTP. Which benchmark a model can run is known here, so they are here and not with the catalog."""

from typing import Any

from django.utils import timezone
from rest_framework import serializers

from catalog.enums import RouteState
from catalog.models import BenchmarkVersion, ModelRoute
from catalog.queries import current_rate, find_versions, routes
from catalog.rates import rates_document
from common.errors import Refused
from common.pages import page_of
from common.serializers import ListQuery, Text, page_of_shape
from runs.compatibility import Refusal, route_refusal
from runs.serializers.shapes import RatesShape, WarningShape
from workspaces.api_base import PublicView, operation, page_document


class ModelReasoningShape(serializers.Serializer[Any]):
    """What the model can be told about its reasoning."""

    efforts = serializers.ListField(child=serializers.CharField())
    budget_tokens = serializers.BooleanField(help_text="Whether it takes a budget of reasoning tokens.")


class ModelShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    name = serializers.CharField()
    provider = serializers.CharField()
    status = serializers.ChoiceField(choices=(RouteState.ACTIVE.value, RouteState.PAUSED.value))
    capabilities = serializers.ListField(child=serializers.CharField())
    context_limit = serializers.IntegerField()
    max_output_tokens = serializers.IntegerField()
    reasoning = ModelReasoningShape()
    pricing = RatesShape(allow_null=True)
    compatible = serializers.BooleanField(required=False, help_text="With `benchmark`.")
    refusal = WarningShape(required=False, allow_null=True, help_text="With `benchmark`: why it cannot run it.")


class ModelsQuery(ListQuery):
    benchmark = Text(required=False, max_length=300, help_text="A benchmark version: adds whether each model can run it.")


class ModelList(PublicView):
    tag = "models"

    @operation("list_models", "Managed models with their rates", query=ModelsQuery, answers={200: page_of_shape(ModelShape)})
    def get(self) -> dict[str, Any]:
        version = self._version(self.query["benchmark"]) if "benchmark" in self.query else None
        page = page_of(routes(), order="route_id", cursor=self.query.get("cursor"), limit=self.query["limit"])
        return page_document(page, lambda route: model_document(route, version))

    def _version(self, name: str) -> BenchmarkVersion:
        found = find_versions(self.reader_workspace, name)
        if not found:
            raise BenchmarkVersion.DoesNotExist
        if len(found) > 1:
            candidates = [version.profile_id for version in found]
            raise Refused(
                "ambiguous_benchmark", f"{name!r} names several benchmarks; name one by its ID.", details={"candidates": candidates}
            )
        return found[0]


def model_document(route: ModelRoute, version: BenchmarkVersion | None) -> dict[str, Any]:
    """A route as the API answers it; with a version also whether it can run it."""
    rate = current_rate(route, timezone.now())
    document: dict[str, Any] = {
        "id": route.route_id,
        "name": route.name,
        "provider": route.provider.slug,
        "status": route.state,
        "capabilities": route.capabilities,
        "context_limit": route.context_limit,
        "max_output_tokens": route.max_output_tokens,
        "reasoning": {"efforts": route.reasoning_efforts, "budget_tokens": route.takes_reasoning_budget},
        "pricing": rate and rates_document(rate),
    }
    if version is None:
        return document
    refusal = _refusal(route, version, has_price=rate is not None)
    return {**document, "compatible": refusal is None, "refusal": refusal and {"code": refusal.code, "message": refusal.message}}


def _refusal(route: ModelRoute, version: BenchmarkVersion, *, has_price: bool) -> Refusal | None:
    if route.state != RouteState.ACTIVE:
        return Refusal("route_unavailable", f"{route.route_id} takes no new runs now.")
    if not has_price:
        return Refusal("route_unavailable", f"{route.route_id} has no price yet, so it cannot be quoted.")
    return route_refusal(version, route, output_limit=version.max_output_tokens, reasoning={})
