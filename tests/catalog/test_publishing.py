"""Benchmarks and their versions: made, published, retired, archived."""

import json
from collections.abc import Iterator

import pytest

from catalog import queries
from catalog.actions import TaskRow, archive_benchmark, create_benchmark, publish_version, retire_version
from catalog.manifests import build_manifest, digest_of
from catalog.models import Benchmark, BenchmarkVersion, Task
from common.canonical import sha256_text
from common.errors import Forbidden, Refused
from tests.factories import make_user
from workspaces.actors import SYSTEM, Actor, actor_of_user
from workspaces.models import AuditEntry, User, Workspace

MANIFEST = build_manifest(
    name="Sums", grader="numeric", prompt_template="What is {question}?", roles=["question"], system_prompt="Count.", max_output_tokens=32
)


def rows(count: int) -> Iterator[TaskRow]:
    for n in range(count):
        yield TaskRow(f"t{n}", {"question": f"{n} + {n}"}, str(2 * n), group="even" if n % 2 == 0 else "odd")


def published(count: int = 3, **fields: str) -> BenchmarkVersion:
    benchmark = create_benchmark(None, actor=SYSTEM, **{"slug": "sums", "name": "Sums", "category": "Arithmetic", **fields})
    return publish_version(benchmark, actor=SYSTEM, manifest=MANIFEST, rows=rows(count))


def test_publishing_freezes_the_manifest_with_its_tasks(db: None) -> None:
    version = published()
    manifest = json.loads(version.manifest)
    assert manifest == {**MANIFEST, "tasks": digest_of(rows(3))}
    assert version.sha256 == sha256_text(version.manifest)
    assert manifest["grader_options"] == {"extract": "last_number", "prefix": "ANSWER:", "abs_tol": 0, "rel_tol": 0}
    stored = BenchmarkVersion.objects.get()
    columns = (stored.profile_id, stored.state, stored.task_count, stored.longest_prompt_bytes, stored.has_groups, stored.has_clusters)
    assert columns == ("sums@1", "active", 3, len("Count.What is 2 + 2?"), True, False)
    assert [entry.action for entry in AuditEntry.objects.order_by("id")] == ["benchmark.created", "version.published"]


def test_rows_are_stored_in_order_across_batches(db: None) -> None:
    version = published(2_501)
    tasks = queries.tasks_of(version).select_related("content")
    assert [task.ordinal for task in tasks] == list(range(2_501))
    last = tasks[2_500]
    stored = (last.task_id, last.group, last.message_count, last.content.values, last.content.reference)
    assert stored == ("t2500", "even", 2, {"question": "2500 + 2500"}, "5000")


def test_a_second_publication_is_the_next_number_and_retires_nothing(db: None) -> None:
    first = published()
    second = publish_version(first.benchmark, actor=SYSTEM, manifest=MANIFEST, rows=rows(4))
    assert [(version.number, version.state) for version in BenchmarkVersion.objects.order_by("number")] == [(1, "active"), (2, "active")]
    assert queries.latest_version(first.benchmark) == second


def test_a_failing_stream_leaves_nothing(db: None) -> None:
    benchmark = create_benchmark(None, actor=SYSTEM, slug="sums", name="Sums")

    def broken() -> Iterator[TaskRow]:
        yield from rows(1_500)
        raise Refused("bad_row", "Row 1501 is bad.")

    for stream, code in ((broken(), "bad_row"), (iter(()), "no_rows"), (iter([*rows(2), *rows(1)]), "duplicate_task_id")):
        with pytest.raises(Refused) as refused:
            publish_version(benchmark, actor=SYSTEM, manifest=MANIFEST, rows=stream)
        assert (refused.value.code, BenchmarkVersion.objects.count(), Task.objects.count()) == (code, 0, 0)


def test_private_benchmarks_are_made_by_members_and_public_ones_by_staff(workspace: Workspace, viewer: User, member: User) -> None:
    private = create_benchmark(workspace, actor=actor_of_user(member), name="Mine")
    assert (private.slug[:5], len(private.slug), private.created_by) == ("byob-", 17, member)
    for actor, place in ((actor_of_user(viewer), workspace), (actor_of_user(member), None), (actor_of_user(make_user()), workspace)):
        with pytest.raises(Forbidden):
            create_benchmark(place, actor=actor, slug=None if place else "sums", name="Sums")


@pytest.mark.parametrize("slug", ["", "Sums", "sums!", "-sums", "sums-", "byob-0123456789ab", "a" * 81])
def test_a_public_slug_that_is_none_is_refused(db: None, slug: str) -> None:
    with pytest.raises(Refused) as refused:
        create_benchmark(None, actor=SYSTEM, slug=slug, name="Sums")
    assert refused.value.code == "invalid_slug"


def test_a_slug_is_taken_once(db: None) -> None:
    create_benchmark(None, actor=SYSTEM, slug="sums", name="Sums")
    with pytest.raises(Refused) as refused:
        create_benchmark(None, actor=SYSTEM, slug="sums", name="Other sums")
    assert (refused.value.code, refused.value.status) == ("slug_taken", 409)


def test_retiring_and_archiving_are_idempotent_and_recorded_once(db: None) -> None:
    version = published()
    for _ in range(2):
        version = retire_version(version, actor=SYSTEM)
        benchmark = archive_benchmark(version.benchmark, actor=SYSTEM)
    assert (version.state, benchmark.archived_at is not None) == ("retired", True)
    actions = AuditEntry.objects.filter(action__in=["version.retired", "benchmark.archived"]).values_list("action", flat=True)
    assert sorted(actions) == ["benchmark.archived", "version.retired"]
    with pytest.raises(Refused) as refused:
        publish_version(benchmark, actor=SYSTEM, manifest=MANIFEST, rows=rows(1))
    assert refused.value.code == "benchmark_archived"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"grader": "rubric"}, "invalid_grader"),
        ({"grader": "regex_match"}, "invalid_grader_options"),
        ({"grader": "regex_match", "grader_options": {"pattern": r"(a)\1"}}, "invalid_pattern"),
        ({"grader": "multiple_choice"}, "missing_placeholder"),
        ({"has_choices": True}, "unexpected_choices"),
        ({"grader": "multiple_choice", "has_choices": False}, "missing_choices"),
        ({"max_output_tokens": 0}, "invalid_max_output_tokens"),
        ({"max_output_tokens": 4097}, "invalid_max_output_tokens"),
        ({"max_output_tokens": True}, "invalid_max_output_tokens"),
        ({"prompt_template": "{answer}"}, "forbidden_placeholder"),
    ],
)
def test_a_manifest_that_does_not_fit_together_is_refused(changes: dict[str, object], code: str) -> None:
    fields = {"name": "Sums", "grader": "numeric", "prompt_template": "{question}", "roles": ["question"]}
    with pytest.raises(Refused) as refused:
        build_manifest(**{**fields, **changes})  # type: ignore[arg-type]
    assert refused.value.code == code


def test_delivery_says_what_is_sent_and_what_never_is() -> None:
    manifest = build_manifest(
        name="Capitals",
        grader="multiple_choice",
        prompt_template="{question}\n{choices}",
        roles=["question"],
        system_prompt="Be brief.",
        columns={"question": "country", "answer": "capital"},
    )
    assert manifest["delivery"] == {
        "receives": [
            "The system prompt, verbatim, as a system message.",
            "The prompt template as the user message, with {question} from the column 'country' filled in from the row.",
            "The choices as lettered lines: A. text, B. text, and so on.",
        ],
        "never_receives": [
            "The answer: read to grade the row, never delivered.",
            "IDs and groups: used to identify and sample rows, never delivered.",
            "Every column that is not mapped: not read at all.",
            "Instructions, examples or other text of ours: nothing is added.",
        ],
        "grader": 'The letter is read from an output that is one letter, else from the last "answer" followed by an upper-case letter, '
        "else from an output that equals the text of one choice; it must be the reference letter.",
    }


def test_the_digest_of_tasks_changes_with_anything_of_a_row() -> None:
    base = TaskRow("t", {"q": "x"}, "1", "g", "c", {"m": 1})
    others = [
        TaskRow("u", {"q": "x"}, "1", "g", "c", {"m": 1}),
        TaskRow("t", {"q": "y"}, "1", "g", "c", {"m": 1}),
        TaskRow("t", {"q": "x"}, "2", "g", "c", {"m": 1}),
        TaskRow("t", {"q": "x"}, "1", "h", "c", {"m": 1}),
        TaskRow("t", {"q": "x"}, "1", "g", "d", {"m": 1}),
        TaskRow("t", {"q": "x"}, "1", "g", "c", {"m": 2}),
    ]
    digests = {digest_of([row])["sha256"] for row in [base, *others]}
    assert (len(digests), digest_of([base]) == digest_of([base])) == (7, True)


def test_history_keeps_who_a_version_was_for_staff(db: None) -> None:
    version = published()
    assert [row.state for row in version.history.order_by("history_id")] == ["draft", "active"]
    assert Benchmark.objects.get().history.count() == 1


def test_system_is_an_actor_of_everything(workspace: Workspace) -> None:
    actor: Actor = SYSTEM
    benchmark = create_benchmark(workspace, actor=actor, name="Ours")
    assert publish_version(benchmark, actor=actor, manifest=MANIFEST, rows=rows(1)).profile_id == f"{benchmark.slug}@1"
