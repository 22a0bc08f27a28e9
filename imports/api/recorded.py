"""Old evaluations over HTTP: bringing them in as recorded models, and where our verdicts agree with theirs."""

from typing import Any
from uuid import UUID

from rest_framework.response import Response

from catalog.models import BenchmarkVersion
from catalog.queries import get_version
from common.errors import Refused
from common.pages import page_of
from common.serializers import page_of_shape
from gateway import queries as gateway
from gateway.models import RecordedModel
from imports.actions.recorded import DEFAULT_TOKENS, RecordedRequest, archive_recorded, check_recorded, import_recorded
from imports.queries.sources import resolve_source
from imports.serializers.recorded import (
    AgreementQuery,
    RecordedAnswerShape,
    RecordedCreatedShape,
    RecordedModelDetailShape,
    RecordedModelsBody,
    RecordedModelShape,
    RecordedModelsQuery,
    RecordedReportShape,
    answer_document,
    recorded_detail,
    recorded_document,
)
from workspaces.api_base import ApiView, operation, page_document
from workspaces.permissions import can_import, can_read


class RecordedModelList(ApiView):
    tag = "recorded-models"

    @operation(
        "list_recorded_models",
        "Answers of old evaluations that can be run",
        needs=can_read,
        query=RecordedModelsQuery,
        answers={200: page_of_shape(RecordedModelShape)},
    )
    def get(self) -> dict[str, Any]:
        archived = self.query["archived"]
        if "benchmark" in self.query:
            version = get_version(self.workspace, self.query["benchmark"])
            found = gateway.recorded_models_of_version(self.workspace, version, archived=archived)
        else:
            found = gateway.all_recorded_models(self.workspace) if archived else gateway.recorded_models_for(self.workspace)
        return page_document(page_of(found, cursor=self.query.get("cursor"), limit=self.query["limit"]), recorded_document)

    @operation(
        "import_recorded_models",
        "Say what an old evaluation holds, or bring it in",
        needs=can_import,
        body=RecordedModelsBody,
        answers={201: RecordedCreatedShape, 200: RecordedReportShape},
        refusals=(502,),
        in_transaction=False,
    )
    def post(self) -> Response:
        """With `dry_run` the files are read and nothing is created (200). Without, each model in them becomes a recorded model, and the
        rows a private benchmark where no benchmark is named (201). Nothing of the files is run.
        """
        sources = [resolve_source(self.workspace, uri) for uri in self.body["sources"]]
        request = self._request()
        if self.body["dry_run"]:
            report = check_recorded(self.workspace, actor=self.actor, sources=sources, request=request)
            return Response(report.document(), status=200)
        answer: dict[str, Any] = {}

        def finish(version: BenchmarkVersion, models: list[RecordedModel]) -> None:
            """The answer is kept in the transaction that writes: a second request under the key finds both or neither."""
            answer.update({"profile_id": version.profile_id, "recorded_models": [recorded_document(model) for model in models]})
            self.keep_answer(answer, 201)

        import_recorded(self.workspace, actor=self.actor, sources=sources, request=request, finish=finish)
        return Response(answer, status=201)

    def _request(self) -> RecordedRequest:
        given = {name: value for name, value in self.body.items() if value is not None}
        version = None
        if "benchmark" in given:
            try:
                version = get_version(self.workspace, given["benchmark"])
            except BenchmarkVersion.DoesNotExist:
                raise Refused("benchmark_not_found", f"There is no benchmark {given['benchmark']!r}.") from None
        return RecordedRequest(
            format=given.get("format", ""),
            options={name: given[name] for name in ("columns", "model", "filter", "scorer") if name in given},
            version=version,
            name=given.get("name", ""),
            task=given.get("task", ""),
            grader_options=given.get("grader_options"),
            max_output_tokens=given.get("max_output_tokens", DEFAULT_TOKENS),
            data_license=given.get("data_license", ""),
            rights_attestation=given["rights_attestation"],
        )


class RecordedModelDetail(ApiView):
    tag = "recorded-models"

    @operation(
        "get_recorded_model", "A recorded model, and how its verdicts agree", needs=can_read, answers={200: RecordedModelDetailShape}
    )
    def get(self, model_id: UUID) -> dict[str, Any]:
        return recorded_detail(gateway.get_recorded_model(self.workspace, model_id))


class RecordedModelAgreement(ApiView):
    tag = "recorded-models"

    @operation(
        "list_recorded_answers",
        "Its answers one by one, with the old verdict and ours",
        needs=can_read,
        query=AgreementQuery,
        answers={200: page_of_shape(RecordedAnswerShape)},
    )
    def get(self, model_id: UUID) -> dict[str, Any]:
        model = gateway.get_recorded_model(self.workspace, model_id)
        found = gateway.recorded_answers_of(model, agreement=self.query.get("agreement", ""), q=self.query.get("q", ""))
        return page_document(page_of(found, order="id", cursor=self.query.get("cursor"), limit=self.query["limit"]), answer_document)


class RecordedModelArchive(ApiView):
    tag = "recorded-models"

    @operation(
        "archive_recorded_model", "Take it from what can be run; runs stay", needs=can_import, answers={200: RecordedModelDetailShape}
    )
    def post(self, model_id: UUID) -> dict[str, Any]:
        return recorded_detail(archive_recorded(gateway.get_recorded_model(self.workspace, model_id), actor=self.actor))
