"""Quoting, starting, watching, cancelling and continuing."""

from typing import Any
from uuid import UUID

from rest_framework.response import Response

from common.errors import Refused
from common.pages import page_of
from common.serializers import ListQuery, page_of_shape
from runs import queries
from runs.actions import cancel_run, continue_run, create_quote, quote_and_start, start_run
from runs.documents import attempt_document, event_document, quote_document, run_document, run_documents
from runs.serializers.requests import QUOTE_BODY, RUN_BODY, ContinueBody, EventsQuery, RunsQuery, StartBody
from runs.serializers.shapes import AttemptShape, EventShape, QuoteShape, RunShape
from workspaces.api_base import KEY_HEADER, ApiView, operation, page_document
from workspaces.permissions import can_read, can_run


class QuoteList(ApiView):
    tag = "quotes"

    @operation("list_quotes", "Quotes, newest first", needs=can_read, query=ListQuery, answers={200: page_of_shape(QuoteShape)})
    def get(self) -> dict[str, Any]:
        page = page_of(queries.quotes_for(self.workspace), cursor=self.query.get("cursor"), limit=self.query["limit"])
        return page_document(page, quote_document)

    @operation("create_quote", "Quote a run; starts nothing", needs=can_run, body=QUOTE_BODY, answers={201: QuoteShape})
    def post(self) -> dict[str, Any]:
        """Costs nothing and calls no model. The quote stands for half an hour."""
        return quote_document(create_quote(self.workspace, actor=self.actor, request=self.body))


class QuoteDetail(ApiView):
    tag = "quotes"

    @operation("get_quote", "One quote", needs=can_read, answers={200: QuoteShape})
    def get(self, quote_id: UUID) -> dict[str, Any]:
        return quote_document(queries.get_quote(self.workspace, quote_id))


class RunList(ApiView):
    tag = "runs"

    @operation("list_runs", "Runs, newest first", needs=can_read, query=RunsQuery, answers={200: page_of_shape(RunShape)})
    def get(self) -> dict[str, Any]:
        cursor, limit = self.query.pop("cursor", None), self.query.pop("limit")
        page = page_of(queries.filter_runs(queries.runs_for(self.workspace), **self.query), cursor=cursor, limit=limit)
        return {"data": run_documents(page.rows), "next_cursor": page.next_cursor}

    @operation("start_run", "Start a quote", needs=can_run, body=RUN_BODY, answers={201: RunShape, 200: RunShape}, refusals=(402,))
    def post(self) -> Response:
        """201 where it was started now, 200 with the same run where it was started before."""
        if isinstance(self.body, dict) and "quote_id" in self.body:
            asked = self._read(StartBody, self.body)
            quote = queries.get_quote(self.workspace, asked["quote_id"])
            run, is_new = start_run(quote, actor=self.actor, stated_max_microusd=asked.get("max_charge_microusd"))
        elif KEY_HEADER not in self.request.headers:
            raise Refused(
                "idempotency_key_required",
                f"Quoting and starting in one step needs the header {KEY_HEADER}, so that sending it again starts no second run.",
            )
        else:
            run, is_new = quote_and_start(self.workspace, actor=self.actor, request=self.body)
        return Response(run_document(queries.get_run(self.workspace, run.public_id)), status=201 if is_new else 200)


class RunDetail(ApiView):
    tag = "runs"

    @operation("get_run", "One run with its progress", needs=can_read, answers={200: RunShape})
    def get(self, run_id: UUID) -> dict[str, Any]:
        return run_document(queries.get_run(self.workspace, run_id))


class RunCancel(ApiView):
    tag = "runs"

    @operation("cancel_run", "Stop a run; what is finished stays", needs=can_run, answers={202: RunShape})
    def post(self, run_id: UUID) -> dict[str, Any]:
        run = cancel_run(queries.get_run(self.workspace, run_id), actor=self.actor)
        return run_document(queries.get_run(self.workspace, run.public_id))


class RunContinue(ApiView):
    tag = "runs"

    @operation(
        "continue_run",
        "Quote what an ended run left unfinished",
        needs=can_run,
        body=ContinueBody,
        answers={201: QuoteShape, 200: QuoteShape},
    )
    def post(self, run_id: UUID) -> Response:
        """Answers an open quote and starts nothing; finished cells cost nothing again. With `dry_run` the quote is not kept (200)."""
        quote = continue_run(queries.get_run(self.workspace, run_id), actor=self.actor, **self.body)
        return Response(quote_document(quote), status=200 if self.body["dry_run"] else 201)


class EventList(ApiView):
    tag = "runs"

    @operation(
        "list_events", "What happened in a run, oldest first", needs=can_read, query=EventsQuery, answers={200: page_of_shape(EventShape)}
    )
    def get(self, run_id: UUID) -> dict[str, Any]:
        """Sequences are without gaps. Ask again with `after` set to the last one read."""
        run = queries.get_run(self.workspace, run_id)
        kind, limit = self.query.get("type", ""), self.query["limit"]
        if "tail" in self.query:
            events = queries.last_events(run, self.query["tail"], type=kind)
            return {"data": [event_document(event) for event in events], "next_cursor": None}
        after = self.query.get("after", int(self.query.get("cursor", 0)))
        events = queries.events_after(run, after, type=kind, limit=limit + 1)
        page = events[:limit]
        more = str(page[-1].sequence) if len(events) > limit else None
        return {"data": [event_document(event) for event in page], "next_cursor": more}


class AttemptList(ApiView):
    tag = "runs"

    @operation(
        "list_attempts", "The calls behind a run's samples", needs=can_read, query=ListQuery, answers={200: page_of_shape(AttemptShape)}
    )
    def get(self, run_id: UUID) -> dict[str, Any]:
        run = queries.get_run(self.workspace, run_id)
        page = page_of(queries.samples_of(run), order="id", cursor=self.query.get("cursor"), limit=self.query["limit"])
        calls = queries.calls_of_samples(page.rows)
        return page_document(page, lambda sample: attempt_document(sample, next(reversed(calls[queries.source_of(sample)]), None)))
