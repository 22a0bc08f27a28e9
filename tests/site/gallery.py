"""Every page that people see, with something on it: what the screenshots, and the tests of accessibility, go through.

The rows are made by the product's own actions: the starter catalog, models that answer over a real socket, runs that are worked in this
process. `in_thread` runs what needs an event loop of its own while Playwright keeps one in this thread.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from io import BytesIO, StringIO
from typing import Any

from asgiref.sync import async_to_sync
from django.core.cache import cache
from django.core.management import call_command
from django.db import connections
from django.template.loader import render_to_string
from django.test import Client, override_settings
from playwright.sync_api import Page

from catalog.models import BenchmarkVersion, ModelRoute
from catalog.queries import manifest_of
from catalog.rendering import render_messages
from imports.actions.checking import start_check
from imports.actions.whole_uploads import upload_several
from runs.actions import create_quote
from runs.engine.executor import Executor
from runs.exports.storing import kept_export
from runs.gradings.actions import grade_again
from runs.gradings.regrading import grade_run_again
from runs.groups.actions import create_group
from runs.groups.policy import Policy
from runs.groups.resolving import Reference
from runs.models import Run
from runs.queries import get_result, get_run, samples_of
from runs.reviews.actions import add_note, override_verdict, withdraw_override
from runs.sharing.actions import create_share, revoke_share
from runs.sharing.choices import Choices
from runs.sharing.links import link_of
from runs.sharing.publishing import publish_result
from tests import factories
from tests.axe import enter
from tests.imports.recorded import FIXTURES
from tests.imports.wizard import begin as begin_import
from tests.imports.wizard import work_checks
from tests.runs.working import start, work
from tests.site.money import STRIPE, furnish_money
from tests.site.told import told_of_runs
from tests.standins.chat import ChatServer, last_user_message
from workspaces.actors import Actor, actor_of_user
from workspaces.enums import Role
from workspaces.models import User, Workspace

SLUG = "stock-ledgers"
MODELS = (
    # route, name, micro-USD per million tokens in and out, share of right answers, seconds until an answer
    ("acme/large-2", "Acme Large 2", 2_500_000, 10_000_000, 0.94, 0.045),
    ("acme/small-2", "Acme Small 2", 150_000, 600_000, 0.83, 0.015),
    ("birch/reasoner", "Birch Reasoner", 1_100_000, 4_400_000, 0.92, 0.08),
    ("cedar/open-8b", "Cedar Open 8B", 60_000, 90_000, 0.61, 0.01),
)
LIVE_ANSWERS = 60
BROKEN, FORGED, HASTY, BUYING = "a page that breaks", "a form without its token", "a form sent too often", "with purchases turned on"
TOO_MANY_FIELDS = "&".join(["q="] * 1001)


@dataclass(frozen=True, slots=True)
class Shot:
    """A page as one person sees it. `who` is empty for someone who is not signed in; `by` says how a page without an address is reached."""

    name: str
    path: str
    who: str = "owner"
    status: int = 200
    by: str = ""


@dataclass
class Gallery:
    people: dict[str, User]
    shots: list[Shot]

    def show(self, page: Page, shot: Shot) -> None:
        """Open it. Pages of the same person should follow each other, signing in takes a moment."""
        if getattr(page, "shown_to", None) != shot.who:
            page.context.clear_cookies()
            if shot.who:
                enter(page, self.people[shot.who])
            page.shown_to = shot.who  # type: ignore[attr-defined]
        if shot.by == BROKEN:  # its answer, with the status of a page that did not break, which tests would report
            page.route(f"**{shot.path}", lambda route: route.fulfill(body=broken_page(), content_type="text/html; charset=utf-8"))
        with override_settings(**STRIPE) if shot.by == BUYING else nullcontext():
            response = page.goto(shot.path, wait_until="load")
        if shot.by in (FORGED, HASTY):
            if shot.by == FORGED:
                page.context.clear_cookies()
            else:
                try_too_often(shot.path)
            with page.expect_navigation() as answer:
                page.evaluate("document.querySelector('main form').submit()")
            response = answer.value
            cache.clear()
        assert response is not None
        assert response.status == shot.status, f"{shot.path}: {response.status}"

    def text(self, shot: Shot) -> str:
        """Its HTML as the server sends it, without a browser."""
        if shot.by == BROKEN:
            return broken_page()
        client = Client(enforce_csrf_checks=shot.by == FORGED)
        if shot.who:
            client.force_login(self.people[shot.who])
        if shot.by == HASTY:
            try_too_often(shot.path)
        with override_settings(**STRIPE) if shot.by == BUYING else nullcontext():
            response = client.post(shot.path) if shot.by in (FORGED, HASTY) else client.get(shot.path)
        if shot.by == HASTY:
            cache.clear()
        assert response.status_code == shot.status, f"{shot.path}: {response.status_code}"
        return response.content.decode()


def broken_page() -> str:
    """What a page that breaks answers: none does on purpose."""
    return render_to_string("500.html", {"request_id": "0198c0de-0000-7000-8000-000000000000"})


def try_too_often(path: str) -> None:
    """Send the form until the address is refused for a while. Its count is in the cache, which the caller empties."""
    client = Client()
    for _ in range(100):
        if client.post(path).status_code == 429:
            return
    raise AssertionError(f"{path} takes any number of tries")


def in_thread[Result](function: Callable[..., Result], *arguments: Any) -> Result:
    """The function's result, worked in a thread without an event loop. SQLite in memory is one connection, which the thread shares."""
    shared = connections["default"]

    def called() -> Result:
        if shared.vendor != "sqlite":
            try:
                return function(*arguments)
            finally:
                connections.close_all()
        connections["default"] = shared
        return function(*arguments)

    shared.inc_thread_sharing()
    try:
        with ThreadPoolExecutor(max_workers=1) as pool:
            return pool.submit(called).result()
    finally:
        shared.dec_thread_sharing()


def answers_of(versions: Sequence[BenchmarkVersion], model: str, share: float) -> Callable[[list[dict[str, Any]]], str]:
    """A model that knows this share of the answers, the same ones each time."""
    known = {}
    for version in versions:
        for task in version.tasks.select_related("content"):
            known[last_user_message(render_messages(manifest_of(version), task.content.values))] = str(task.content.reference)

    def answer(messages: list[dict[str, Any]]) -> str:
        asked = last_user_message(messages)
        drawn = int.from_bytes(hashlib.sha256(f"{model}\0{asked}".encode()).digest()[:4]) / 2**32
        if drawn < share:
            return f"Counting step by step, what is left on the shelf comes to {known[asked]}."
        if drawn > 0.985:
            return "That cannot be told from the text."
        return f"Counting step by step, what is left on the shelf comes to {int(float(known[asked])) + 1 + int(drawn * 1000) % 40}."

    return answer


def _furnish(workspace: Workspace, actor: Actor) -> dict[str, str]:
    """Models, an endpoint, a key, and runs of each kind; returns IDs by the names that addresses below give them."""
    call_command("load_starter_catalog", stdout=StringIO())
    version = BenchmarkVersion.objects.get(benchmark__slug=SLUG)
    both = [version, BenchmarkVersion.objects.get(benchmark__slug="rates-and-units")]
    selection: dict[str, Any] = {"selection": {"profile_ids": [version.profile_id]}, "coverage": {"mode": "full"}}
    with ExitStack() as stack:
        stack.enter_context(override_settings(ALLOW_PRIVATE_ENDPOINTS=True))
        for route_id, name, input_rate, output_rate, share, latency in MODELS:
            server = stack.enter_context(ChatServer(answers_of(both, route_id, share), latency=latency))
            factories.make_route(route_id, name=name, endpoint=server.url, input_rate=input_rate, output_rate=output_rate)
        own = stack.enter_context(ChatServer(answers_of(both, "own", 0.7), latency=0.02))
        told = stack.enter_context(told_of_runs(workspace, actor))
        connection_ = factories.make_connection(workspace, name="Lab server", endpoint=own.url, model="lab-13b")
        factories.make_connection(workspace, name="New server", checked=False)
        key, _ = factories.make_key(workspace, label="Nightly job")
        models = [route_id for route_id, *_ in MODELS]
        ended = work(start(workspace, actor, subjects=models, name="Which model for the stock room?", **selection))
        own_subject = {"kind": "connection", "connection_id": str(connection_.public_id)}
        own_run = work(start(workspace, actor, subjects=[own_subject, "random-choice"], name="Our server against chance", **selection))
        cut = work(start(workspace, actor, subjects=models[1:2], name="Short answers", max_output_tokens=24, **selection))
        interrupted = work(start(workspace, actor, subjects=models[:2], name="A small cap", max_charge_microusd="12000", **selection))
        better = stack.enter_context(ChatServer(answers_of(both, "acme/small-2.1", 0.9), latency=0.012))
        ModelRoute.objects.filter(route_id=models[1]).update(endpoint=better.url)
        again = work(start(workspace, actor, subjects=models[:2], name="The week after", **selection))
        of_both = {"selection": {"profile_ids": [each.profile_id for each in both], "weights": [2, 1]}, "attempts": 3}
        sample = {"coverage": {"mode": "sample", "sample_count": 40, "seed": 5}}
        several = work(start(workspace, actor, subjects=[*models[:3], "random-choice"], name="Two trades, thrice", **of_both, **sample))
        wider = {"subjects": models, "reuse_from": str(several.public_id), **of_both, **sample}
        kept_quote = create_quote(workspace, actor=actor, request=wider)
        links = _furnish_sharing(workspace, actor, ended, own_run)
        quote = create_quote(workspace, actor=actor, request={"subjects": models, "max_charge_microusd": "500000", **selection})
        before = own.stats.answered
        running: list[Any] = [own_subject, models[0], models[3]]
        live: Run = start(workspace, actor, subjects=running, name="Three at once", max_charge_microusd="400000", **selection)
        async_to_sync(Executor(should_stop=lambda: own.stats.answered > before + LIVE_ANSWERS).run)()
    said = _furnish_reviews(workspace, actor, ended)
    grade_run_again(str(grade_again(get_run(workspace, ended.public_id), actor=actor).public_id))
    task_ids = list(version.tasks.order_by("ordinal").values_list("task_id", flat=True)[:12])
    texts = {task_id: f"Counting it through, {n} are left." for n, task_id in enumerate(task_ids)}
    named = [Reference(ended.public_id, subject_index=0), Reference(ended.public_id, subject_index=1)]
    checks = Policy(min_score=0.7, max_drop=0.05, min_coverage=0.9)
    group = create_group(
        workspace, actor=actor, references=[*named, Reference(cut.public_id)], name="Does the small one do?", policy=checks
    )
    recording = factories.make_recorded_model(version, texts, workspace=workspace, name="stock-model-2023")
    recording.answers.filter(task__task_id__in=task_ids[:2]).update(was_correct=True, agreement="only_theirs", old_extracted="12")
    old = (FIXTURES / "promptfoo.json").read_bytes()
    upload = upload_several(workspace, actor=actor, files=[("promptfoo.json", len(old), BytesIO(old))])
    for wanted in ("html", "bundle"):
        kept_export(ended, ended.results.get(), wanted)
    money = furnish_money(workspace, ended)
    return {
        **links,
        **money,
        "recording": str(recording.public_id),
        "old": str(upload.public_id),
        "ended": str(ended.public_id),
        "said": str(said),
        "again": str(again.public_id),
        "several": str(several.public_id),
        "kept_quote": str(kept_quote.public_id),
        "group": str(group.public_id),
        "interrupted": str(interrupted.public_id),
        "live": str(live.public_id),
        **told,
        "quote": str(quote.public_id),
        "connection": str(connection_.public_id),
        "key": str(key.public_id),
    }


def _furnish_reviews(workspace: Workspace, actor: Actor, ended: Run) -> int:
    """Notes and verdicts of two people on wrong answers of the weakest model; returns the position of the task with most of them."""
    second = actor_of_user(factories.make_user("bo@example.org", workspace=workspace, role=Role.MEMBER, name="Bo"))
    wrong = list(samples_of(ended).filter(subject__index=3, correct=False).order_by("position")[:3])
    override_verdict(ended, wrong[0], actor=second, correct=True, reason="It counts the damaged box, which the text does not exclude.")
    override_verdict(ended, wrong[0], actor=actor, correct=True, reason="Agreed: the question can be read both ways.")
    override_verdict(ended, wrong[1], actor=second, correct=True, reason="Looks right to me.")
    withdraw_override(ended, wrong[1], actor=actor)
    add_note(ended, wrong[0], actor=second, text="Ask the author what counts as “on the shelf”.\nIn task 17 it is said, here it is not.")
    add_note(ended, wrong[0], actor=actor, text="Asked on Monday.")
    add_note(ended, wrong[2], actor=second, text="Off by one, as so often with this model.")
    return wrong[0].position


def _furnish_sharing(workspace: Workspace, actor: Actor, ended: Run, own: Run) -> dict[str, str]:
    """Links to a result, one of them revoked, and a leaderboard of two workspaces, part of it under another protocol."""
    run, own = get_run(workspace, ended.public_id), get_run(workspace, own.public_id)
    result = get_result(run)
    chosen = Choices(title="Which model for the stock room?", shows_samples=True, shows_cost=True, shows_workspace=True)
    share = create_share(run, result, actor=actor, choices=chosen)
    revoke_share(create_share(run, result, actor=actor, choices=Choices()), actor=actor)
    named = create_share(own, get_result(own), actor=actor, choices=Choices(labels={0: "A 13B model on our server"}))
    publish_result(run, result, actor=actor, keys=["0-0", "0-1", "0-3"], agreed_name=workspace.name)
    theirs = factories.make_workspace("Warehouse institute", credit=5_000_000)
    other = actor_of_user(factories.make_user("wim@example.org", workspace=theirs, role=Role.OWNER))
    for coverage in ({"mode": "full"}, {"mode": "sample", "sample_count": 20, "seed": 7}):
        request = {"selection": {"profile_ids": [f"{SLUG}@1"]}, "coverage": coverage, "subjects": ["random-choice", "most-frequent-answer"]}
        their = get_run(theirs, work(start(theirs, other, **request)).public_id)
        publish_result(their, get_result(their), actor=other, keys=["0-0", "0-1"], agreed_name=theirs.name)
    links = {"shared": link_of(share) or "", "shared_named": link_of(named) or ""}
    return {name: f"/shared/{link.rpartition('/')[2]}" for name, link in links.items()}


def _begin_imports(workspace: Workspace, user: User) -> dict[str, str]:
    """Two drafts of the import page whose rows were checked: one that can be made, and one with a bad row."""
    places = ("Peru", "France", "Japan", "Kenya", "Chile", "Nepal")
    names = ("Lima", "Paris", "Tokyo", "Nairobi", "Santiago", "Kathmandu")
    rows = "country,capital,region\n" + "".join(f"{place},{name},there\n" for place, name in zip(places, names, strict=True))
    quiz = [
        {"question": f"Which of them is number {word}?", "options": ["this", "that"], "answer": "A"} for word in ("one", "two", "three")
    ]
    quiz.append({"question": "And which is none?", "options": ["only this"], "answer": "A"})
    mapped = {
        "columns": {"question": "country", "answer": "capital", "group": "region"},
        "prompt_template": "What is the capital of {question}?",
    }
    good = begin_import(user, workspace, rows.encode(), done=5, **mapped)
    bad = begin_import(user, workspace, "".join(f"{json.dumps(row)}\n" for row in quiz).encode(), file="quiz.jsonl", done=5)
    for draft in (good, bad):
        start_check(draft, actor=actor_of_user(user))
    work_checks()
    return {"draft": f"/catalog/import/{good.public_id}", "bad_draft": f"/catalog/import/{bad.public_id}"}


def make_gallery() -> Gallery:
    """All the people, and all the pages."""
    ours = factories.make_workspace("Stock room lab", credit=20_000_000)
    people = {
        "owner": factories.make_user("ada@example.org", workspace=ours, role=Role.OWNER, name="Ada"),
        "viewer": factories.make_user("vera@example.org", workspace=ours, role=Role.VIEWER, name="Vera"),
        "staff": factories.make_user("staff@example.org", is_staff=True, is_superuser=True),
        "newcomer": factories.make_user("newcomer@example.org", workspace=factories.make_workspace("New lab", credit=5_000_000)),
    }
    ids = in_thread(_furnish, ours, actor_of_user(people["owner"]))
    ids |= _begin_imports(ours, people["owner"])
    run, stopped, live = (f"/evaluations/{ids[name]}" for name in ("ended", "interrupted", "live"))
    first = f"/evaluations/new?benchmark={SLUG}@1"
    shots = [
        Shot("landing", "/", ""),
        Shot("sign-up", "/register", ""),
        Shot("sign-in", "/login", ""),
        Shot("password-reset", "/accounts/password/reset/", ""),
        Shot("password-reset-sent", "/accounts/password/reset/done/", ""),
        Shot("mail-to-confirm", "/accounts/confirm-email/", ""),
        Shot("verify", "/verify", ""),
        Shot("catalog-signed-out", "/catalog", ""),
        Shot("catalog", "/catalog"),
        Shot("catalog-filtered", "/catalog?q=number"),
        Shot("catalog-empty", "/catalog?q=nothing-has-this-name"),
        Shot("benchmark", f"/catalog/{SLUG}"),
        Shot("benchmark-health", f"/catalog/{SLUG}/health", ""),
        Shot("benchmark-health-after-runs", f"/evaluations/benchmarks/{SLUG}/health"),
        Shot("old-evaluation", "/catalog/import/recorded"),
        Shot("old-evaluation-read", f"/catalog/import/recorded/{ids['old']}"),
        Shot("recorded-predictions", f"/catalog/import/recorded?benchmark={SLUG}@1"),
        Shot("recorded-model", f"/catalog/recorded/{ids['recording']}"),
        Shot("recorded-model-filtered", f"/catalog/recorded/{ids['recording']}?agreement=only_theirs"),
        Shot("recorded-of-benchmark", f"/catalog/recorded/benchmarks/{SLUG}"),
        Shot("import-source", "/catalog/import"),
        Shot("import-hub", "/catalog/import?source=huggingface"),
        *(Shot(f"import-{step}", f"{ids['draft']}/{step}") for step in ("preview", "mapping", "grading", "rights", "create")),
        Shot("import-check", f"{ids['draft']}/check"),
        Shot("import-check-refused", f"{ids['bad_draft']}/check"),
        Shot("import-choices", f"{ids['bad_draft']}/mapping"),
        Shot("import-as-viewer", "/catalog/import", "viewer", 403),
        Shot("models", "/models"),
        Shot("model", "/models/acme/large-2"),
        Shot("connections", "/connections"),
        Shot("connection", f"/connections/{ids['connection']}"),
        Shot("new-connection", "/connections/new"),
        Shot("connection-key", f"/connections/{ids['connection']}/key"),
        Shot("connection-deletion", f"/connections/{ids['connection']}/deletion"),
        Shot("new-evaluation", "/evaluations/new"),
        Shot("new-evaluation-models", first),
        Shot("new-evaluation-tasks", f"{first}&subjects=managed:acme/large-2&step=tasks"),
        Shot("new-evaluation-chosen-tasks", f"{first}&subjects=managed:acme/large-2&coverage=tasks&step=tasks"),
        Shot("new-evaluation-settings", f"{first}&subjects=managed:acme/large-2&coverage=full&step=settings"),
        Shot("quote", f"/evaluations/quotes/{ids['quote']}"),
        Shot("report-running", live),
        Shot("cancellation", f"{live}/cancellation"),
        Shot("report", run),
        Shot("report-interrupted", stopped),
        Shot("comparison", f"{run}/comparison"),
        Shot("report-of-several", f"/evaluations/{ids['several']}"),
        Shot("quote-of-several", f"/evaluations/quotes/{ids['kept_quote']}"),
        Shot("setup-of-several", f"/evaluations/new?from={ids['several']}&reuse=1&step=settings&attempts=4"),
        Shot("setup-adding", f"{first}&adding=1"),
        Shot("gradings", f"{run}/gradings"),
        Shot("grading", f"{run}/gradings/2"),
        Shot("disagreements", f"{run}/disagreements"),
        Shot("disagreements-of-two", f"{run}/disagreements?show=a_only&a=0&b=1"),
        Shot("difference", f"/evaluations/{ids['again']}/difference?against={ids['ended']}"),
        Shot("sharing", f"{run}/sharing"),
        Shot("sharing-none", f"{stopped}/sharing"),
        Shot("sharing-running", f"{live}/sharing"),
        Shot("sharing-as-viewer", f"{run}/sharing", "viewer"),
        Shot("sharing-preview", f"{run}/sharing/preview?title=For+the+report&shows_samples=on&expires_in=30"),
        Shot("publishing", f"{run}/publishing"),
        Shot("shared", ids["shared"], ""),
        Shot("shared-named", ids["shared_named"], ""),
        Shot("shared-samples", f"{ids['shared']}/samples?show=failures", ""),
        Shot("shared-sample", f"{ids['shared']}/samples/1", ""),
        Shot("shared-gone", "/shared/none", "", 404),
        Shot("leaderboard", f"/catalog/{SLUG}/leaderboard", ""),
        Shot("leaderboard-empty", "/catalog/bases-and-bits/leaderboard", ""),
        Shot("continuation", f"{stopped}/continuation"),
        Shot("groups", "/evaluations/groups"),
        Shot("new-group", f"/evaluations/groups/new?results={ids['ended']}"),
        Shot("group", f"/evaluations/groups/{ids['group']}"),
        Shot("group-comparison", f"/evaluations/groups/{ids['group']}/comparison"),
        Shot("group-started-together", f"/evaluations/groups/{ids['ended']}/comparison"),
        Shot("groups-empty", "/evaluations/groups", "newcomer"),
        Shot("history", "/evaluations"),
        Shot("history-filtered", f"/evaluations?status=completed&benchmark={SLUG}"),
        Shot("benchmark-results", f"/evaluations/benchmarks/{SLUG}"),
        Shot("exports", f"{run}/exports"),
        Shot("samples", f"{run}/samples"),
        Shot("samples-wrong", f"{run}/samples?verdict=wrong&subject=0"),
        Shot("samples-more-filters", f"{run}/samples?text=shelf&min_output_tokens=5&sort=-latency"),
        Shot("sample", f"{run}/samples/0"),
        Shot("sample-compared", f"{run}/samples/{ids['said']}?left=0.1&right=3.1&verdict=incorrect"),
        Shot("sample-as-viewer", f"{run}/samples/{ids['said']}", "viewer"),
        Shot("reviews", f"{run}/reviews"),
        Shot("reviews-notes", f"{run}/reviews?kind=notes"),
        Shot("reviews-none", f"{stopped}/reviews"),
        Shot("settings-account", "/settings/account"),
        Shot("settings-workspace", "/settings/workspace"),
        Shot("settings-members", "/settings/members"),
        Shot("settings-api-keys", "/settings/api-keys"),
        Shot("settings-api-key", f"/settings/api-keys/{ids['key']}"),
        Shot("settings-integrations", "/settings/integrations"),
        Shot("settings-notices", "/settings/notices"),
        Shot("new-webhook", "/settings/notices/webhooks/new"),
        Shot("webhook", f"/settings/notices/webhooks/{ids['webhook']}"),
        Shot("webhook-deletion", f"/settings/notices/webhooks/{ids['webhook']}/deletion"),
        Shot("webhook-deliveries", "/settings/notices/deliveries"),
        Shot("webhook-delivery", f"/settings/notices/deliveries/{ids['delivery']}"),
        Shot("settings-billing", "/settings/billing", by=BUYING),
        Shot("settings-billing-filtered", "/settings/billing?kind=usage"),
        Shot("spending", "/settings/billing/spending"),
        Shot("purchase", "/settings/billing/purchase", by=BUYING),
        Shot("purchase-off", "/settings/billing/purchase"),
        Shot("payment-paid", f"/settings/billing/payments/{ids['paid']}"),
        Shot("payment-waiting", f"/settings/billing/payments/{ids['waiting']}"),
        Shot("onboarding-under-way", "/onboarding"),
        Shot("command", "/command?q=sto"),
        Shot("error-404", "/nothing/here", status=404),
        Shot("error-500", "/error-500", by=BROKEN),
        Shot("error-400", f"/catalog?{TOO_MANY_FIELDS}", status=400),
        Shot("error-403", "/evaluations/new", "viewer", 403),
        Shot("error-403-form", "/login", "", 403, by=FORGED),
        Shot("error-429", "/login", "", 429, by=HASTY),
        Shot("notices-as-viewer", "/settings/notices", "viewer"),
        Shot("members-as-viewer", "/settings/members", "viewer"),
        Shot("onboarding", "/onboarding", "newcomer"),
        Shot("onboarding-comparison", "/onboarding/comparison", "newcomer"),
        Shot("onboarding-task", "/onboarding/comparison/tasks/1", "newcomer"),
        Shot("history-empty", "/evaluations", "newcomer"),
        Shot("connections-empty", "/connections", "newcomer"),
        Shot("billing-empty", "/settings/billing", "newcomer"),
        Shot("api-keys-empty", "/settings/api-keys", "newcomer"),
        Shot("design", "/design", "staff"),
    ]
    return Gallery(people, shots)
