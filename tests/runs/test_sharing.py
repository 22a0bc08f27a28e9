"""Links to results: who makes them, what they show in every combination of choice and right, and that nothing else comes out."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import orjson
import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from common.crypto import decrypt
from common.errors import Conflict, Forbidden, Refused
from common.redaction import redact
from evalrouter_site import shared as shared_views
from runs import queries
from runs.models import Run
from runs.models.sharing import Share
from runs.retention import expire_content
from runs.sharing.actions import create_share, revoke_share
from runs.sharing.choices import Choices
from runs.sharing.links import link_of
from tests import factories
from tests.paging import cost
from tests.runs.sharing import SECRET, make_telling_run
from tests.runs.working import start, work
from workspaces.actors import Actor, actor_of_key, actor_of_user
from workspaces.enums import Role
from workspaces.models import AuditEntry, User, Workspace

pytestmark = pytest.mark.django_db
SignIn = Callable[[User], Client]
BASELINES = ["random-choice", "most-frequent-answer"]


@pytest.fixture(autouse=True)
def _own_endpoints(settings: Any) -> None:
    settings.ALLOW_PRIVATE_ENDPOINTS = True


def run_on(version: Any, workspace: Workspace, actor: Actor, **more: Any) -> Run:
    request = {"subjects": BASELINES, "selection": {"profile_ids": [version.profile_id]}, "coverage": {"mode": "full"}, **more}
    return work(start(workspace, actor, **request))


def loaded(run: Run) -> Run:
    return queries.get_run(run.workspace, run.public_id)


def share_of(run: Run, actor: Actor, **chosen: Any) -> Share:
    expires_at = chosen.pop("expires_at", None)
    return create_share(loaded(run), queries.get_result(run), actor=actor, choices=Choices(**chosen), expires_at=expires_at)


def path_of(share: Share, rest: str = "") -> str:
    link = link_of(share)
    assert link is not None
    return f"/shared/{link.rpartition('/')[2]}{rest}"


def opened(share: Share, rest: str = "", *, client: Client | None = None) -> HttpResponse:
    return (client or Client()).get(path_of(share, rest))


# ── What the rights allow ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("shows_samples", [False, True])
@pytest.mark.parametrize("policy", ["full", "no_answers", "aggregate"])
@pytest.mark.parametrize("private", [False, True])
def test_rights_and_choice_decide_what_is_shared(
    workspace: Workspace, actor: Actor, policy: str, shows_samples: bool, private: bool
) -> None:
    """Every combination: whether it can be shared at all, and whether samples, prompts and references are there."""
    version = factories.make_version(tasks=3, export_policy=policy, workspace=workspace if private else None)
    run = run_on(version, workspace, actor)
    try:
        share = share_of(run, actor, shows_samples=shows_samples)
    except Refused as refused:
        found: Any = refused.code
    else:
        page, listed, one = (opened(share, rest) for rest in ("", "/samples", "/samples/1"))
        text = one.content.decode()
        found = (page.status_code, listed.status_code, one.status_code, "What is 1 + 1?" in text, "Reference, never sent" in text)
    if private:
        expected: Any = "private_benchmark"
    elif policy == "aggregate":
        expected = "samples_not_permitted" if shows_samples else (200, 404, 404, False, False)
    elif not shows_samples:
        expected = (200, 404, 404, False, False)
    else:
        expected = (200, 200, 200, True, policy == "full")
    assert found == expected
    assert Share.objects.count() == (0 if isinstance(expected, str) else 1)


def test_run_that_goes_on_has_nothing_to_share(workspace: Workspace, actor: Actor, version: Any, owner: User, sign_in: SignIn) -> None:
    run = start(workspace, actor, subjects=BASELINES, selection={"profile_ids": [version.profile_id]}, coverage={"mode": "full"})
    client, path = sign_in(owner), f"/evaluations/{run.public_id}/sharing"
    assert "There is no result yet" in client.get(path).content.decode()
    assert [client.post(path, {"expires_in": "7"}).status_code, client.get(f"{path}/preview").status_code, Share.objects.count()] == [
        409,
        302,
        0,
    ]


# ── Nothing leaks ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_nothing_that_the_workspace_named_is_in_what_is_shared(workspace: Workspace) -> None:
    """Workspace, run, metadata, person, endpoint, its model and key, recording, an error's text, and every ID: none comes out."""
    Workspace.objects.filter(pk=workspace.pk).update(name=f"{SECRET} workspace")
    workspace.refresh_from_db()
    run, owner = make_telling_run(workspace)
    share = share_of(run, actor_of_user(owner), shows_samples=True, shows_cost=True)
    hidden = {SECRET, "127.0.0.1:", str(run.public_id), str(workspace.public_id), str(owner.public_id), str(run.quote.public_id)}
    hidden |= {str(subject.connection.public_id) for subject in run.subjects.all() if subject.connection}
    hidden |= {str(each) for each in run.subjects.values_list("samples__public_id", flat=True)}
    leaking = {}
    rests = ["", "/result.json", "/samples", "/samples?show=failures", "/samples?subject=1", *(f"/samples/{n}" for n in range(6))]
    for rest in rests:
        response = opened(share, rest)
        text = response.content.decode() + str(dict(response.headers))
        assert response.status_code == 200, rest
        if found := [each for each in hidden if each in text]:
            leaking[rest] = found
    assert leaking == {}
    assert SECRET in queries.get_result(run).document, "The result itself names what could have leaked."


def test_own_endpoints_and_recordings_bear_the_name_that_was_chosen(workspace: Workspace) -> None:
    run, owner = make_telling_run(workspace)
    document = opened(share_of(run, actor_of_user(owner), labels={1: " Our  13B "}), "/result.json").json()
    assert [subject["label"] for subject in document["subjects"]] == [
        "example/small",
        "Our 13B",
        "Recorded answers",
        "most-frequent-answer",
    ]
    assert {row["label"] for row in document["comparison"]["ranking"]} == {
        "example/small",
        "Our 13B",
        "Recorded answers",
        "most-frequent-answer",
    }
    frozen = orjson.loads(queries.get_result(run).comparison)[0]
    said = frozen["summary"].replace(f"{SECRET} lab", "Our 13B").replace(f"{SECRET} old", "Recorded answers")
    assert document["comparison"]["summary"] == said


def test_public_models_keep_their_names(workspace: Workspace) -> None:
    run, owner = make_telling_run(workspace)
    with pytest.raises(Refused) as refused:
        share_of(run, actor_of_user(owner), labels={0: "Something better"})
    assert (refused.value.code, refused.value.details) == ("invalid_labels", {"subject_index": [0]})


def test_cost_tokens_and_who_was_cheapest_are_shown_only_where_chosen(workspace: Workspace) -> None:
    run, owner = make_telling_run(workspace)
    actor = actor_of_user(owner)
    without, with_cost = (opened(share_of(run, actor, shows_cost=chosen), "/result.json").json() for chosen in (False, True))
    told = {"charge_microusd", "answers_charge_microusd", "usage"}
    assert [told & set(each) for each in without["subjects"]] == [set()] * 4
    assert [told & set(each) for each in with_cost["subjects"]] == [told] * 4
    assert [row.get("cheapest_within_one_stderr") for row in without["comparison"]["ranking"]] == [None] * 4
    page = opened(share_of(run, actor)).content.decode()
    assert ["$" in page, "What it cost was not shared" in page] == [False, True]


def test_workspace_is_named_only_where_chosen_and_members_never(workspace: Workspace) -> None:
    run, owner = make_telling_run(workspace)
    texts = [opened(share_of(run, actor_of_user(owner), shows_workspace=chosen)).content.decode() for chosen in (False, True)]
    assert ["Shared by Ours" in text for text in texts] == [False, True]
    assert [owner.email in text for text in texts] == [False, False]


def test_link_shows_its_result_version_and_no_later_one(workspace: Workspace, actor: Actor, version: Any) -> None:
    run = run_on(version, workspace, actor)
    share = share_of(run, actor)
    first = queries.get_result(run)
    later = orjson.loads(first.document) | {"version": 2}
    run.results.create(number=2, document=orjson.dumps(later).decode(), sha256="f" * 64, comparison=first.comparison)
    document = opened(share, "/result.json").json()
    assert (document["version"], document["sha256"]) == (1, first.sha256)


# ── The token ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_revoked_expired_and_unknown_links_are_answered_alike(workspace: Workspace, actor: Actor, version: Any) -> None:
    run = run_on(version, workspace, actor)
    revoked, expired = share_of(run, actor), share_of(run, actor, expires_at=timezone.now() + timedelta(days=1))
    revoke_share(revoked, actor=actor)
    Share.objects.filter(pk=expired.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    answers = [opened(revoked), opened(expired), Client().get("/shared/nothing-like-it"), opened(revoked, "/result.json")]
    assert {(answer.status_code, answer.content) for answer in answers} == {(404, answers[0].content)}
    assert [answer[name] for answer in answers for name in shared_views.HEADERS] == [*shared_views.HEADERS.values()] * 4


def test_answers_stay_out_of_caches_search_engines_and_referrers(workspace: Workspace, actor: Actor, version: Any) -> None:
    share = share_of(run_on(version, workspace, actor), actor, shows_samples=True)
    for rest in ("", "/result.json", "/samples", "/samples/0", "/samples?cursor=x"):
        response = opened(share, rest)
        told = {name: response[name] for name in ("Cache-Control", "Referrer-Policy", "X-Robots-Tag")}
        assert told == {
            "Cache-Control": "private, no-store",
            "Referrer-Policy": "no-referrer",
            "X-Robots-Tag": "noindex, nofollow, noarchive",
        }
    text = opened(share).content.decode()
    assert ['content="noindex, nofollow, noarchive"' in text, "<form" in text, "<script" in text] == [True, False, False]


def test_database_alone_gives_no_link_away(workspace: Workspace, actor: Actor, version: Any) -> None:
    share = share_of(run_on(version, workspace, actor), actor)
    token = path_of(share).rpartition("/")[2]
    row = Share.objects.filter(pk=share.pk).values().get()
    assert [name for name, value in row.items() if token in str(value)] == []
    assert (len(token), decrypt(row["secret"])) == (36, token)
    assert redact(f"Too Many Requests: /shared/{token}/samples") == "Too Many Requests: /shared/[redacted]/samples"
    entries = AuditEntry.objects.filter(workspace=workspace)
    assert [str(entry.data) for entry in entries if token in str(entry.data) or token in entry.target] == []


def test_openings_from_outside_are_counted_and_those_of_members_are_not(
    workspace: Workspace, actor: Actor, version: Any, owner: User, stranger: User, sign_in: SignIn
) -> None:
    share = share_of(run_on(version, workspace, actor), actor, shows_samples=True)
    opened(share, client=sign_in(owner))
    share.refresh_from_db()
    assert (share.opened_count, share.last_opened_at) == (0, None)
    opened(share)
    opened(share, client=sign_in(stranger))
    opened(share, "/samples")
    Client().head(path_of(share))
    share.refresh_from_db()
    assert (share.opened_count, share.last_opened_at is not None) == (2, True)


def test_address_that_asks_too_often_is_refused_for_a_while(
    workspace: Workspace, actor: Actor, version: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_views, "RATE", "3/hour")
    share = share_of(run_on(version, workspace, actor), actor)
    statuses = [opened(share).status_code for _ in range(3)] + [Client().get("/shared/guess").status_code]
    refused = opened(share)
    assert (statuses, refused.status_code, refused["Retry-After"].isdigit()) == ([200, 200, 200, 429], 429, True)


# ── Samples ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_content_past_its_retention_is_said_to_be(workspace: Workspace) -> None:
    run, owner = make_telling_run(workspace)
    share = share_of(run, actor_of_user(owner), shows_samples=True)
    before = opened(share, "/samples/2").content.decode()
    expire_content(timezone.now() + timedelta(days=4000))
    after = opened(share, "/samples/2").content.decode()
    assert ["The answer is 4." in before, "The answer is 4." in after, "past its retention" in after] == [True, False, True]
    assert "past its retention" in opened(share, "/samples").content.decode()


def test_samples_are_listed_in_pages_and_narrowed(workspace: Workspace, actor: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_views, "SAMPLES_A_PAGE", 3)
    run = run_on(factories.make_version(tasks=4), workspace, actor)
    share = share_of(run, actor, shows_samples=True)
    seen, rest = [], "/samples?subject=0"
    while rest:
        context = opened(share, rest).context
        seen += [row.position for row in context["rows"]]
        rest = f"/samples?subject=0&cursor={context['next_cursor']}" if context["next_cursor"] else ""
    assert sorted(seen) == [0, 1, 2, 3]
    failures = opened(share, "/samples?show=failures&subject=0").context["rows"]
    assert [row.correct for row in failures] == [False] * len(failures)
    assert opened(share, "/samples?cursor=nonsense").status_code == 422
    assert opened(share, "/samples?subject=77").context["rows"] == []
    assert [opened(share, f"/samples/{position}").status_code for position in (3, 4, 10**6)] == [200, 404, 404]


def test_pages_cost_the_same_queries_with_more_tasks_and_links(workspace: Workspace, actor: Actor) -> None:
    costs = []
    for tasks in (3, 40):
        run = run_on(factories.make_version(tasks=tasks), workspace, actor)
        share = share_of(run, actor, shows_samples=True)
        if tasks == 40:
            for _ in range(5):
                share_of(run, actor)
        costs.append([cost(Client(), path_of(share, rest)) for rest in ("", "/result.json", "/samples", "/samples/1")])
    assert costs[0] == costs[1]


# ── Making and revoking ─────────────────────────────────────────────────────────────────────────────────────────────


def test_who_may_share_and_revoke(workspace: Workspace, actor: Actor, version: Any, member: User, viewer: User) -> None:
    run = run_on(version, workspace, actor)
    share = share_of(run, actor_of_user(member))
    reader, _ = factories.make_key(workspace, scopes=["eval:read"])
    for refused in (actor_of_user(viewer), actor_of_key(reader)):
        with pytest.raises(Forbidden):
            share_of(run, refused)
        with pytest.raises(Forbidden):
            revoke_share(share, actor=refused)
    writer, _ = factories.make_key(workspace, scopes=["eval:write"], label="CI")
    revoked = revoke_share(share, actor=actor_of_key(writer))
    again = revoke_share(share, actor=actor)
    assert (revoked.revoked_by_label, again.revoked_by_label, again.revoked_at) == ("key CI", "key CI", revoked.revoked_at)
    entries = AuditEntry.objects.filter(workspace=workspace, action__startswith="share.").order_by("id")
    assert [(entry.action, entry.actor_label, entry.target) for entry in entries] == [
        ("share.create", member.email, str(share.public_id)),
        ("share.revoke", "key CI", str(share.public_id)),
    ]


def test_links_of_a_run_are_limited(workspace: Workspace, actor: Actor, version: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runs.sharing.actions.MAX_LIVE", 2)
    run = run_on(version, workspace, actor)
    first, _ = share_of(run, actor), share_of(run, actor)
    with pytest.raises(Conflict) as refused:
        share_of(run, actor)
    revoke_share(first, actor=actor)
    assert (refused.value.code, share_of(run, actor).state_at(timezone.now())) == ("too_many_shares", "live")


def test_page_previews_makes_copies_and_revokes_a_link(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    run, _ = make_telling_run(workspace)
    client, path = sign_in(member), f"/evaluations/{run.public_id}/sharing"
    chosen = {"title": "For the paper", "label_1": "Lab model", "label_2": "", "shows_samples": "on", "expires_in": "30"}
    preview = client.get(f"{path}/preview", chosen)
    assert (preview.status_code, Share.objects.count()) == (200, 0)
    shown = preview.content.decode().partition('class="share-preview')[2].partition("</article>")[0]
    assert ["Lab model" in shown, SECRET in shown, "For the paper" in shown] == [True, False, True]

    made = client.post(path, dict(preview.context["hidden"]))
    share = Share.objects.get()
    assert (made.status_code, made["Location"]) == (302, path)
    assert (share.title, share.labels, share.shows_samples, share.shows_cost, share.shows_workspace) == (
        "For the paper",
        {"1": "Lab model"},
        True,
        False,
        False,
    )
    assert share.expires_at is not None
    assert 29 < (share.expires_at - timezone.now()).total_seconds() / 86400 <= 30
    link = link_of(share)
    listed = client.get(path)
    assert (link in listed.content.decode(), listed["Cache-Control"]) == (True, "max-age=0, no-cache, no-store, must-revalidate, private")
    shared = opened(share).content.decode()
    assert (
        shown.partition('id="result-heading">')[2].partition("</section>")[0]
        == (shared.partition('id="result-heading">')[2].partition("</section>")[0])
    )
    client.post(f"{path}/{share.public_id}/revocation")
    assert (opened(share).status_code, link in client.get(path).content.decode()) == (404, False)


def test_page_says_what_cannot_be_shared_and_keeps_what_was_typed(
    workspace: Workspace, actor: Actor, member: User, viewer: User, sign_in: SignIn
) -> None:
    private = run_on(factories.make_version(tasks=2, workspace=workspace), workspace, actor)
    client = sign_in(member)
    page = client.get(f"/evaluations/{private.public_id}/sharing")
    assert [words in page.content.decode() for words in ("This result cannot be shared", "A new link")] == [True, False]
    refused = client.post(f"/evaluations/{private.public_id}/sharing", {"expires_in": "7"})
    assert (refused.status_code, Share.objects.count()) == (422, 0)

    run = run_on(factories.make_version(tasks=2, export_policy="aggregate"), workspace, actor)
    path = f"/evaluations/{run.public_id}/sharing"
    sneaked = client.post(path, {"expires_in": "7", "shows_samples": "on"})
    assert (sneaked.status_code, Share.objects.get().shows_samples) == (302, False)
    wrong = client.get(f"{path}/preview", {"title": "Kept", "expires_in": "soon"})
    assert (wrong.status_code, "Kept" in wrong.content.decode()) == (422, True)
    seen = sign_in(viewer).get(path).content.decode()
    assert [words in seen for words in ("can copy the link", "Made by", "/shared/", "Revoke")] == [True, True, False, False]


def test_link_whose_keys_are_gone_still_works_and_says_that_it_cannot_be_copied(
    workspace: Workspace, actor: Actor, version: Any, owner: User, sign_in: SignIn, settings: Any
) -> None:
    run = run_on(version, workspace, actor)
    share = share_of(run, actor)
    path = path_of(share)
    settings.CREDENTIAL_KEYS = ["another key, as after a loss"]
    assert (link_of(share), Client().get(path).status_code) == (None, 200)
    assert "cannot be shown again" in sign_in(owner).get(f"/evaluations/{run.public_id}/sharing").content.decode()


def test_role_in_another_workspace_is_no_role_here(
    workspace: Workspace, actor: Actor, version: Any, stranger: User, sign_in: SignIn
) -> None:
    run = run_on(version, workspace, actor)
    share = share_of(run, actor)
    path = f"/evaluations/{run.public_id}/sharing"
    client = sign_in(stranger)
    answers = [client.get(path), client.get(f"{path}/preview"), client.post(path), client.post(f"{path}/{share.public_id}/revocation")]
    assert [answer.status_code for answer in answers] == [404] * 4
    other = run_on(factories.make_version(tasks=2), workspace, actor)
    admin = factories.make_user(workspace=workspace, role=Role.ADMIN)
    crossed = sign_in(admin).post(f"/evaluations/{other.public_id}/sharing/{share.public_id}/revocation")
    share.refresh_from_db()
    assert (crossed.status_code, share.revoked_at) == (404, None)


# ── Several benchmarks ──────────────────────────────────────────────────────────────────────────────────────────────


def run_on_several(workspace: Workspace, actor: Actor, *versions: Any, **more: Any) -> Run:
    profile_ids = [version.profile_id for version in versions]
    request = {"subjects": BASELINES, "selection": {"profile_ids": profile_ids}, "coverage": {"mode": "full"}, **more}
    return work(start(workspace, actor, **request))


def test_run_with_one_private_benchmark_is_not_shared(workspace: Workspace, actor: Actor, version: Any) -> None:
    run = run_on_several(workspace, actor, version, factories.make_version(tasks=3, workspace=workspace))
    with pytest.raises(Refused) as refused:
        share_of(run, actor)
    assert refused.value.code == "private_benchmark"


def test_samples_of_a_benchmark_that_keeps_them_are_not_shown_beside_those_of_one_that_does_not(workspace: Workspace, actor: Actor) -> None:
    kept = factories.make_version(factories.make_benchmark("kept", name="Kept"), tasks=3, export_policy="aggregate")
    given = factories.make_version(factories.make_benchmark("given", name="Given"), tasks=4)
    share = share_of(run_on_several(workspace, actor, kept, given), actor, shows_samples=True)
    first, second = (opened(share, f"?benchmark={index}") for index in (0, 1))
    assert [response.context["has_samples"] for response in (first, second)] == [False, True]
    assert [response.context["shown"]["benchmark"]["slug"] for response in (first, second)] == ["kept", "given"]
    assert {row.position for row in opened(share, "/samples").context["rows"]} == {3, 4, 5, 6}
    assert [opened(share, f"/samples/{position}").status_code for position in (0, 2, 3, 6, 7)] == [404, 404, 200, 200, 404]
    edges = [(opened(share, f"/samples/{position}").context[name]) for position, name in ((3, "previous"), (3, "number"), (6, "next"))]
    assert edges == [None, 1, None]
    document = opened(share, "/result.json?benchmark=1").json()
    assert ({each["benchmark_index"] for each in document["subjects"]}, document["coverage"]["planned"]) == ({1}, 4)
    assert document["comparison"]["profile_id"] == "given@1"


def test_attempts_are_shown_with_their_figures(workspace: Workspace, actor: Actor, version: Any) -> None:
    share = share_of(run_on_several(workspace, actor, version, attempts=3), actor, shows_samples=True)
    page = opened(share).content.decode()
    assert ["Right in at least one of 3 attempts" in page, "3 at each task" in page] == [True, True]
    assert [answer["attempt"] for answer in opened(share, "/samples/0").context["answers"]] == [1, 2, 3, 1, 2, 3]
