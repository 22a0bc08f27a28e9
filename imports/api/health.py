"""The health of a benchmark over HTTP."""

from typing import Any

from django.http import Http404

from catalog.queries import get_benchmark, latest_of, versions_of
from imports.queries.health import health_of
from imports.serializers.health import HealthQuery, HealthShape
from workspaces.api_base import PublicView, operation


class BenchmarkHealthDetail(PublicView):
    tag = "catalog"

    @operation("get_benchmark_health", "What a benchmark's rows say about it as a measure", query=HealthQuery, answers={200: HealthShape})
    def get(self, slug: str) -> dict[str, Any]:
        versions = list(versions_of(get_benchmark(self.reader_workspace, slug.lower())))
        number = self.query.get("version")
        version = next((each for each in versions if each.number == number), None) if number else latest_of(versions)
        if version is None:
            raise Http404
        return {"profile_id": version.profile_id, "health": health_of(version)}
