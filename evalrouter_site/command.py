"""What the command bar finds: benchmarks, models, runs and connections of the workspace, and the pages and actions of the product.

A new page is one line of `PAGES`, a new action one of `ACTIONS`. What changes something is no link: it is found with the fields that it
posts, and the page makes a form of it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse

from catalog.queries import catalog_entries, search_routes
from evalrouter_site.queries import found_runs
from evalrouter_site.templatetags.evalrouter import number, status_words
from gateway.queries import connections_for
from workspaces.enums import RANK, Role
from workspaces.models import Workspace

MOST_OF_A_KIND = 5
LONGEST_QUERY = 100
EVALUATE = frozenset(("new", "evaluation", "evaluate", "with", "run", "start", "quote", "compare", "on"))
"""Words that ask for a new evaluation; what else is typed names its benchmark."""


@dataclass(frozen=True, slots=True)
class Found:
    """A place to go to, or with `fields` what is posted there. `words` are further words it is found by."""

    title: str
    href: str
    note: str = ""
    icon: str = "right"
    words: str = ""
    fields: tuple[tuple[str, str], ...] | None = None


@dataclass(frozen=True, slots=True)
class Group:
    name: str
    items: list[Found]


@dataclass(frozen=True, slots=True)
class Seeker:
    """Who asks: the workspace they work in and their role there, None for both where nobody is signed in."""

    workspace: Workspace | None
    role: Role | None
    is_signed_in: bool
    is_staff: bool
    others: tuple[Workspace, ...] = ()
    """The other workspaces they are a member of."""
    here: str = ""
    """The address they ask from, to come back to."""

    def may(self, who: str) -> bool:
        """Whether this is for them: `all`, `nobody` (signed out), `person`, `staff`, or the least role in the workspace."""
        if who in {role.value for role in Role}:
            return self.role is not None and RANK[self.role] >= RANK[Role(who)]
        return {"all": True, "nobody": not self.is_signed_in, "person": self.is_signed_in, "staff": self.is_staff}[who]


PAGES = (
    ("all", "Catalog", "catalog:benchmarks", "book", "benchmarks tasks"),
    ("all", "Models", "catalog:models", "cube", "routes rates prices providers"),
    ("person", "Evaluations", "runs:history", "chart", "runs history results"),
    ("person", "Group runs", "runs:groups", "chart", "groups compare side by side comparisons checks"),
    ("person", "Connections", "gateway:connections", "plug", "endpoints own keys"),
    ("person", "Account", "workspaces:account", "user", "settings password e-mail name"),
    ("person", "Workspace settings", "workspaces:workspace", "building", "rename audit"),
    ("person", "Members", "workspaces:members", "users", "people roles invite"),
    ("person", "API keys", "workspaces:api_keys", "key", "tokens settings"),
    ("person", "Integrations", "imports:integrations", "plug", "github connect account settings"),
    ("person", "Notices", "runs:notices", "mail", "e-mail webhooks notifications alerts settings"),
    ("person", "Credit and spend", "billing:wallet", "wallet", "billing money ledger balance"),
    ("person", "Getting started", "onboarding", "play", "onboarding welcome recorded comparison example help"),
    ("all", "API description", "openapi", "code", "openapi developers docs"),
    ("staff", "Staff admin", "admin:index", "lock", "review"),
    ("staff", "Components", "design", "cube", "design"),
    ("nobody", "Sign in", "account_login", "user", "login log in"),
)
ACTIONS = (
    ("member", "New evaluation", "runs:new_evaluation", "plus", "run start quote compare"),
    ("member", "Group from results", "runs:new_group", "plus", "compare results side by side baseline candidates checks"),
    ("member", "Import a benchmark", "imports:source", "upload", "upload file data csv jsonl parquet hugging face private own"),
    ("member", "Bring old evaluations along", "imports:recorded", "upload", "import recorded openai promptfoo lm-eval inspect"),
    ("admin", "Connect an endpoint", "gateway:new_connection", "plus", "add connection"),
    ("admin", "Make an API key", "workspaces:api_keys", "plus", "new token"),
    ("admin", "Add a member", "workspaces:members", "plus", "invite a person people"),
    ("nobody", "Create an account", "account_signup", "plus", "register sign up"),
)


def find(seeker: Seeker, q: str) -> list[Group]:
    """Groups of what matches every word, the one with the best match first; without words the latest runs, actions and pages."""
    pages, actions = _listed(seeker, PAGES, q), _actions(seeker, q)
    if not q:
        return _filled([Group("Latest evaluations", _runs(seeker, "")[:3]), Group("Actions", actions), Group("Pages", pages)])
    groups = [
        Group("Actions", actions),
        Group("Benchmarks", _benchmarks(seeker, q)),
        Group("Models", _models(q)),
        Group("Evaluations", _runs(seeker, q)),
        Group("Connections", _connections(seeker, q)),
        Group("Pages", pages),
    ]
    return sorted(_filled(groups), key=lambda group: min(_distance(found, q) for found in group.items))


def _filled(groups: list[Group]) -> list[Group]:
    return [group for group in groups if group.items]


def _distance(found: Found, q: str) -> int:
    """0 where the title begins with what was typed, 1 where a word of it does, else 2."""
    title, typed = found.title.lower(), q.lower()
    return 0 if title.startswith(typed) else 1 if f" {typed}" in title else 2


def _listed(seeker: Seeker, entries: Iterable[tuple[str, str, str, str, str]], q: str) -> list[Found]:
    words = q.lower().split()
    found = [
        Found(title, reverse(url), icon=icon, words=more)
        for who, title, url, icon, more in entries
        if seeker.may(who) and all(word in f"{title} {more}".lower() for word in words)
    ]
    return sorted(found, key=lambda each: _distance(each, q)) if q else found


def _actions(seeker: Seeker, q: str) -> list[Found]:
    """What can be done: the actions of the product, an evaluation with a benchmark that is named, another workspace, signing out."""
    posted = [
        Found(
            f"Switch to {each.name}", reverse("workspaces:current"), "Workspace", "building", "change workspace", _switch(each, seeker.here)
        )
        for each in seeker.others
    ]
    if seeker.is_signed_in:
        posted.append(Found("Sign out", reverse("account_logout"), icon="leave", words="log out leave", fields=()))
    words = q.lower().split()
    matching = [each for each in posted if all(word in f"{each.title} {each.words}".lower() for word in words)]
    found = [*_listed(seeker, ACTIONS, q), *_evaluations_with(seeker, words), *(matching if q else matching[-MOST_OF_A_KIND:])]
    return sorted(found, key=lambda each: _distance(each, q)) if q else found


def _switch(workspace: Workspace, here: str) -> tuple[tuple[str, str], ...]:
    return (("workspace", str(workspace.public_id)), ("next", here))


def _evaluations_with(seeker: Seeker, words: list[str]) -> list[Found]:
    """New evaluations with the benchmarks that are named beside a word such as "run" or "evaluate"."""
    named = [word for word in words if word not in EVALUATE]
    if not seeker.may("member") or not named or len(named) == len(words):
        return []
    entries = catalog_entries(seeker.workspace, q=" ".join(named)).order_by("name", "slug")[:MOST_OF_A_KIND]
    new = reverse("runs:new_evaluation")
    profiles = [(each.name, f"{each.slug}@{each.latest_number}") for each in entries]  # type: ignore[attr-defined]
    return [Found(f"New evaluation with {name}", f"{new}?{urlencode({'benchmark': profile})}", icon="plus") for name, profile in profiles]


def _benchmarks(seeker: Seeker, q: str) -> list[Found]:
    entries = catalog_entries(seeker.workspace, q=q).order_by("name", "slug")[:MOST_OF_A_KIND]
    return [
        Found(entry.name, reverse("catalog:benchmark", args=[entry.slug]), f"{number(entry.latest_task_count)} tasks", "book")  # type: ignore[attr-defined]
        for entry in entries
    ]


def _models(q: str) -> list[Found]:
    routes = search_routes(q).order_by("name", "route_id")[:MOST_OF_A_KIND]
    return [Found(route.name, reverse("catalog:model", args=[route.route_id]), route.provider.name, "cube") for route in routes]


def _runs(seeker: Seeker, q: str) -> list[Found]:
    if seeker.workspace is None:
        return []
    found = []
    for run in found_runs(seeker.workspace, q)[:MOST_OF_A_KIND]:
        benchmark = run.benchmarks.all()[0].version.benchmark.name
        count = run.subject_count  # type: ignore[attr-defined]
        note = f"{count} model{'' if count == 1 else 's'} · {status_words(run.status)}"
        found.append(Found(run.name or benchmark, reverse("runs:report", args=[run.public_id]), note, "chart"))
    return found


def _connections(seeker: Seeker, q: str) -> list[Found]:
    if seeker.workspace is None:
        return []
    words = q.lower().split()
    return [
        Found(each.name, reverse("gateway:connection", args=[each.public_id]), each.model, "plug")
        for each in connections_for(seeker.workspace)
        if all(word in f"{each.name} {each.model}".lower() for word in words)
    ][:MOST_OF_A_KIND]
