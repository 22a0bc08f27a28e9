"""What a result says beside its figures about who answered, and what a failed cell shows."""

from collections.abc import Callable
from typing import Any

import pytest

from runs.documents import result_document, sample_document
from runs.models import Run
from runs.queries import get_result, get_sample, samples_of
from tests.runs.working import sums, work
from tests.standins.chat import Asked, ChatServer, completion, error_body
from tests.standins.http import Reply

pytestmark = pytest.mark.django_db(transaction=True)

type Start = Callable[..., Run]


def answered_as(*names: str) -> Callable[[Asked], Reply]:
    """Right answers, from models of these names in turn."""
    turn = iter(range(10_000))

    def reply(asked: Asked) -> Reply:
        return Reply(body=completion(sums(asked.messages), model=names[next(turn) % len(names)]))

    return reply


@pytest.mark.parametrize(
    ("served", "said"),
    [
        (("m0",), []),
        (("m0-2026-01-31",), ["{label}: asked for m0, the provider answered as m0-2026-01-31."]),
        (("m0", "m9"), ["{label}: the provider served several models during the run: m0, m9."]),
    ],
)
def test_notices_name_the_model_that_answered_where_it_is_not_the_one_asked(
    served: tuple[str, ...], said: list[str], quick: None, start_sums: Start
) -> None:
    with ChatServer(reply=answered_as(*served)) as server:
        run = work(start_sums(tasks=6, endpoint=server.url, concurrency=1))
    document = result_document(get_result(run))
    label = document["subjects"][0]["label"]
    assert [notice for notice in document["notices"] if notice.startswith(label)] == [words.format(label=label) for words in said]


@pytest.mark.parametrize(("cut", "said"), [(0, []), (1, ["1 answer was"]), (3, ["3 answers were"])])
def test_notices_count_the_answers_that_were_cut(cut: int, said: list[str], quick: None, start_sums: Start) -> None:
    def reply(asked: Asked) -> Reply:
        number = int(asked.question.split()[2])
        return Reply(body=completion(sums(asked.messages), model="m0", finish_reason="length" if number < cut else "stop"))

    with ChatServer(reply=reply) as server:
        run = work(start_sums(tasks=5, endpoint=server.url, max_output_tokens=77))
    document = result_document(get_result(run))
    label = document["subjects"][0]["label"]
    notices = [notice for notice in document["notices"] if notice.startswith(label)]
    assert notices == [f"{label}: {words} cut at the output limit of 77 tokens." for words in said]


def test_failed_cell_has_no_response_and_an_empty_answer_has_an_empty_one(quick: None, start_sums: Start) -> None:
    def reply(asked: Asked) -> Reply:
        if asked.question.startswith("What is 1 "):
            return Reply(400, error_body("Refused by the filter.", kind="invalid_request_error", code="content_filter"))
        return Reply(body=completion(""))

    with ChatServer(reply=reply) as server:
        run = work(start_sums(tasks=3, endpoint=server.url))
    shown: list[dict[str, Any]] = [sample_document(get_sample(run, sample.public_id)) for sample in samples_of(run).order_by("position")]
    assert [(each["status"], each["response"], each["grading"] is None) for each in shown] == [
        ("graded", "", False),
        ("error", None, True),
        ("graded", "", False),
    ]
