"""The starter catalog: answers computed again, prompts that fit, and a load that changes nothing twice."""

import io
import time
from collections import Counter
from decimal import Decimal

import pytest
from django.core.management import call_command

from catalog import queries
from catalog.actions import archive_benchmark, keep_published
from catalog.graders import grade, written_answer
from catalog.manifests import digest_of
from catalog.models import Benchmark, BenchmarkVersion
from catalog.rendering import check_template, prompt_bytes, render_messages
from catalog.starter import STARTERS
from catalog.starter.drawing import Draws, Starter
from common.errors import Forbidden
from tests.catalog import starter_solvers
from workspaces.actors import SYSTEM, actor_of_user
from workspaces.models import User

ALL = pytest.mark.parametrize("starter", STARTERS, ids=lambda starter: starter.slug)
CONTENTS = {
    "stock-ledgers": "213bcfbf44e0eaf070b557e7ca01018980ad1fbaedf868098b64dbc054eb855e",
    "rates-and-units": "595b4d9506c99c73eeee59c7c6269bfebb32f820b0d0f55f98c1fd3508a07d0a",
    "calendar-and-clocks": "c9c66467cf79cf177f9b44fae3a387a8365ede67bac60792dbf05051c450aed2",
    "letter-work": "c913463fc8c98981e8801b0121adf6f29d54df501cb97ec5707ef96a5734b9d9",
    "knights-and-knaves": "b47c694e67fb32994048e83e15a9114dd7b350279465d6cad69bf1e266d4fd6c",
    "one-way-streets": "a60118785cf7b42398a8f46103ed592907f2b41fbeba54e233a665cc51dafc67",
    "table-to-json": "5ec46523e856d337377034f53f4cd0dd29bbb83f7f487bd5cd7c27bee597ee64",
    "trace-the-program": "8f4f4106a98d3adee96588db5f8ead484743190f99e01e1ca6deaedbca9e5cd0",
    "bases-and-bits": "dca92f6a88835abe4a53511fa51fcb9350d491952337a6239b2f7f27c9a1092b",
}
"""Each benchmark's tasks by their digest: a change of a generator that changes a published task shows here."""


@ALL
def test_every_answer_computed_again_from_the_prompt_is_the_reference(starter: Starter) -> None:
    solve = getattr(starter_solvers, starter.slug.replace("-", "_"))
    for row in starter.rows():
        answer = solve(row.values)
        if starter.slug == "rates-and-units":
            reference = Decimal(row.reference)
            assert abs(Decimal(answer) - reference) <= reference * Decimal("1e-7"), row
        elif starter.grader == "exact_match" or starter.slug == "bases-and-bits":
            assert row.reference == [answer], row
        else:
            assert row.reference == answer, row


@ALL
def test_every_benchmark_has_60_to_200_tasks_in_even_groups_and_no_question_twice(starter: Starter) -> None:
    rows = starter.rows()
    assert 60 <= len(rows) <= 200
    assert Counter(row.group for row in rows) == dict.fromkeys(starter.groups, starter.per_group)
    assert len({row.task_id for row in rows}) == len({str(row.values) for row in rows}) == len(rows)


@ALL
def test_every_prompt_renders_and_states_no_answer_of_twenty_characters(starter: Starter) -> None:
    manifest = starter.manifest()
    check_template(starter.prompt_template, starter.roles, has_choices=manifest["choices"])
    sizes = []
    for row in starter.rows():
        [message] = render_messages(manifest, row.values)
        assert "{" not in message["content"]
        sizes.append(prompt_bytes([message]))
        for answer in row.reference if isinstance(row.reference, list) else []:
            assert len(answer) < 20 or answer not in message["content"]
    assert max(sizes) < 2_000


@ALL
def test_every_reference_can_be_answered_and_another_is_wrong(starter: Starter) -> None:
    rows = starter.rows()
    for row, other in zip(rows, [*rows[1:], rows[0]], strict=True):
        choices = row.values.get("choices")
        output = written_answer(starter.grader, starter.grader_options, row.reference, choices)
        assert grade(starter.grader, starter.grader_options, output, row.reference, choices=choices).correct
        if other.reference != row.reference:
            assert not grade(starter.grader, starter.grader_options, output, other.reference, choices=choices).correct


@ALL
def test_no_single_answer_is_right_for_more_than_two_fifths(starter: Starter) -> None:
    rows = starter.rows()
    [(_, most)] = Counter(str(row.reference) for row in rows).most_common(1)
    assert most <= 0.4 * len(rows)


def test_all_five_graders_and_licences_are_there() -> None:
    assert {starter.grader for starter in STARTERS} == {"multiple_choice", "exact_match", "regex_match", "numeric", "json_field_match"}
    assert {starter.manifest()["license"] for starter in STARTERS} == {"CC0-1.0"}


def test_the_tasks_are_the_same_everywhere() -> None:
    assert {starter.slug: digest_of(starter.rows())["sha256"] for starter in STARTERS} == CONTENTS


@pytest.mark.parametrize(
    ("slug", "output", "reference"),
    [
        ("stock-ledgers", "42 + 14 = 56\n56 × 2 = 112\n\n**112**", "112"),
        ("rates-and-units", "134 / 2.1121 …\n\n63.44", "63.443329"),
        ("trace-the-program", "The output grows.\n\n**Output: -32, 31**", ["-32, 31", "-32,31"]),
        ("trace-the-program", "Output: [7,8,9].", ["7, 8, 9", "7,8,9"]),
        ("trace-the-program", "Output: 5\n", ["5"]),
        ("bases-and-bits", "0x8D7", ["8d7"]),
        ("bases-and-bits", "00010011", ["10011"]),
        ("bases-and-bits", "8d7.", ["8d7"]),
        ("bases-and-bits", "0", ["0"]),
        ("letter-work", "jacket → jaxckxetx\n\nnebgobixb", ["nebgobixb"]),
        ("calendar-and-clocks", "…\nANSWER: 20:30 Tuesday", ["20:30 Tuesday"]),
        ("knights-and-knaves", "So Felix lies.\n\nAnswer: C", "C"),
        (
            "table-to-json",
            '```json\n{"count": 2, "name": "juniper lodge", "total": 12785}\n```',
            {"count": 2, "name": "Juniper Lodge", "total": 12785},
        ),
    ],
)
def test_answers_as_models_write_them_are_read(slug: str, output: str, reference: object) -> None:
    [starter] = [starter for starter in STARTERS if starter.slug == slug]
    verdict = grade(starter.grader, starter.grader_options, output, reference, choices=["a", "b", "c", "d"])
    assert (verdict.correct, verdict.readable) == (True, True), verdict


def test_draws_of_a_seed_are_these() -> None:
    draws = Draws("seed")
    assert ([draws.below(10) for _ in range(8)], draws.between(3, 9, 3), draws.shuffled("abcdef")) == (
        [1, 2, 8, 2, 0, 9, 7, 6],
        6,
        ["d", "e", "b", "a", "c", "f"],
    )


# ── Loading ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def load() -> str:
    output = io.StringIO()
    call_command("load_starter_catalog", stdout=output)
    return output.getvalue()


def test_loading_publishes_all_and_loading_again_nothing(db: None) -> None:
    started = time.perf_counter()
    assert load() == "".join(f"{starter.slug}@1: {len(starter.rows())} tasks, published\n" for starter in STARTERS)
    assert time.perf_counter() - started < 5
    assert load() == "".join(f"{starter.slug}@1: {len(starter.rows())} tasks, as it was\n" for starter in STARTERS)
    assert sorted(entry.slug for entry in queries.catalog_entries(None, status="active")) == sorted(starter.slug for starter in STARTERS)
    version = BenchmarkVersion.objects.get(benchmark__slug="letter-work")
    assert (version.license, version.export_policy, version.has_groups, version.benchmark.workspace) == ("CC0-1.0", "full", True, None)
    assert version.tasks.filter(ordinal=0).get().metadata == {"steps": 2}


def test_changed_content_is_the_next_version_and_archived_ones_are_left_alone(db: None) -> None:
    starter, other = STARTERS[:2]
    manifest, rows = starter.manifest(), starter.rows()
    first = keep_published(starter.slug, actor=SYSTEM, manifest=manifest, rows=rows)
    changed = {**manifest, "description": "Other words."}
    second = keep_published(starter.slug, actor=SYSTEM, manifest=changed, rows=rows)
    third = keep_published(starter.slug, actor=SYSTEM, manifest=changed, rows=rows[:60])
    again = keep_published(starter.slug, actor=SYSTEM, manifest=changed, rows=rows[:60])
    assert [(version.number, is_new) for version, is_new in (first, second, third, again)] == [(1, True), (2, True), (3, True), (3, False)]
    assert Benchmark.objects.get().description == "Other words."
    kept, _ = keep_published(other.slug, actor=SYSTEM, manifest=other.manifest(), rows=other.rows())
    archive_benchmark(kept.benchmark, actor=SYSTEM)
    assert keep_published(other.slug, actor=SYSTEM, manifest=other.manifest(), rows=other.rows()[:60]) == (kept, False)


def test_only_staff_publishes_for_all(member: User) -> None:
    starter = STARTERS[0]
    with pytest.raises(Forbidden):
        keep_published(starter.slug, actor=actor_of_user(member), manifest=starter.manifest(), rows=starter.rows())
