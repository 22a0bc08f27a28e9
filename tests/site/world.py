"""Two workspaces, ours with one of everything, made by the product's own actions, for tests that ask every URL.

Everything of ours bears `MARK` in its name, its prompts and its answers, so that a page that leaks it can be seen to.
"""

import io
from dataclasses import dataclass, field

from django.test import Client

from billing.enums import PaymentStatus
from billing.models import Payment
from catalog.models import BenchmarkVersion
from imports.actions.drafts import create_draft
from imports.actions.uploads import create_upload
from imports.actions.whole_uploads import upload_whole
from imports.drafting import stored_source, suggested_state
from imports.models import GithubInstallation
from runs.enums import GroupKind
from runs.gradings.actions import grade_again
from runs.gradings.regrading import grade_run_again
from runs.groups.actions import create_group
from runs.groups.resolving import Reference
from runs.models import Quote, Run, Sample
from runs.notices.actions import create_endpoint
from runs.notices.enums import CHOOSABLE
from runs.queries import get_result, get_run
from runs.reviews.actions import add_note, override_verdict
from runs.sharing.actions import create_share
from runs.sharing.choices import Choices
from runs.sharing.links import link_of
from tests import factories
from tests.runs.working import start, work
from workspaces.actors import SYSTEM, actor_of_user
from workspaces.enums import Role
from workspaces.models import User, Workspace

MARK = "zebra-7041"


@dataclass
class World:
    """Our workspace and its objects, its people by role, and a stranger, who owns another workspace."""

    workspace: Workspace
    people: dict[Role, User]
    stranger: User
    stranger_key: str
    ids: dict[str, str] = field(default_factory=dict)
    """Values of route parameters, by name: all of our workspace."""

    def client(self, user: User | None) -> Client:
        client = Client()
        if user is not None:
            client.force_login(user)
        return client

    def path(self, pattern: str) -> str:
        """The address that the route has for our objects."""
        path = "/" + pattern
        while "<" in path:
            before, _, rest = path.partition("<")
            parameter, _, after = rest.partition(">")
            path = before + self.ids[parameter.rpartition(":")[2]] + after
        return path


def _furnish(workspace: Workspace, owner: User, mark: str) -> dict[str, str]:
    """One of everything in the workspace; returns the IDs by the names that routes give them."""
    version = factories.make_version(
        factories.make_benchmark(workspace=workspace, name=f"{mark} benchmark"),
        rows=[{"values": {"question": f"{mark} What is {n} + {n}?"}, "reference": str(2 * n)} for n in range(4)],
    )
    connection = factories.make_connection(workspace, name=f"{mark} endpoint")
    recorded = factories.make_recorded_model(version, {"t0": "0"}, workspace=workspace, name=f"{mark} recording")
    connected = GithubInstallation.objects.create(workspace=workspace, installation_id=7041, account=f"{mark} account")
    key, _ = factories.make_key(workspace, label=f"{mark} key")
    baselines = [{"kind": "baseline", "name": name} for name in ("random-choice", "most-frequent-answer")]
    endpoint, _ = create_endpoint(workspace, actor=SYSTEM, url=f"https://hooks.example.org/{mark}", events=CHOOSABLE, description=mark)
    request = {
        "subjects": baselines,
        "selection": {"profile_ids": [version.profile_id]},
        "coverage": {"mode": "full"},
        "name": f"{mark} run",
    }
    run: Run = work(start(workspace, actor_of_user(owner), **request))
    sample = Sample.objects.filter(subject__run=run).earliest("id")
    note = add_note(run, sample, actor=actor_of_user(owner), text=f"{mark} note")
    override_verdict(run, sample, actor=actor_of_user(owner), correct=True, reason=f"{mark} reason")
    grade_run_again(str(grade_again(get_run(workspace, run.public_id), actor=actor_of_user(owner)).public_id))
    both = [Reference(run.public_id)]
    group = create_group(workspace, actor=actor_of_user(owner), references=both, name=f"{mark} group")
    comparison = create_group(workspace, actor=actor_of_user(owner), references=both, name=f"{mark} check", kind=GroupKind.COMPARISON)
    payment = Payment.objects.create(
        wallet=workspace.wallet, credit_microusd=5_000_000, fee_microusd=250_000, status=PaymentStatus.FAILED, failure=f"{mark} card"
    )
    return {
        "slug": version.benchmark.slug,
        "benchmark_id": version.benchmark.slug,
        "wanted": "bundle",
        "table": "ranking",
        "connection_id": str(connection.public_id),
        "endpoint_id": str(endpoint.public_id),
        "delivery_id": str(endpoint.deliveries.get().public_id),
        "model_id": str(recorded.public_id),
        "github_id": str(connected.public_id),
        "key_id": str(key.public_id),
        "workspace_id": str(workspace.public_id),
        "quote_id": str(Quote.objects.get(run=run).public_id),
        "run_id": str(run.public_id),
        "grading_number": "2",
        "note_id": str(note.public_id),
        "group_id": str(group.public_id),
        "comparison_id": str(comparison.public_id),
        "file_format": "json",
        "payment_id": str(payment.public_id),
        "sample_id": str(sample.public_id),
        "position": "0",
    }


def _begin_import(workspace: Workspace, member: User, mark: str) -> dict[str, str]:
    """A draft of the import page, which is its person's own, and an upload that has not arrived."""
    actor = actor_of_user(member)
    rows = f"question,answer\n{mark} What is the capital of Peru?,Lima\n{mark} And that of Japan?,Tokyo\n".encode()
    stored = upload_whole(workspace, actor=actor, name=f"{mark}.csv", size=len(rows), stream=io.BytesIO(rows))
    source = stored_source(workspace, stored.uri)
    draft = create_draft(workspace, actor=actor, source=stored.uri, state={**suggested_state(source), "done": ["source"]})
    upload = create_upload(workspace, actor=actor, files=[{"name": f"{mark}.jsonl", "bytes": 100}])
    return {"draft_id": str(draft.public_id), "upload_id": str(upload.public_id), "file_name": f"{mark}.jsonl"}


def _share(mark: str) -> dict[str, str]:
    """A third workspace, named like ours, has shared and published a run of the public benchmark: what it named itself stays inside."""
    theirs = factories.make_workspace(f"{mark} sharers", credit=10_000_000)
    actor = actor_of_user(factories.make_user("sharer@example.org", workspace=theirs, role=Role.OWNER))
    version = BenchmarkVersion.objects.get(benchmark__slug="sums")
    recorded = factories.make_recorded_model(version, {"t0": "0", "t1": "2"}, workspace=theirs, name=f"{mark} shared recording")
    subjects = [{"kind": "recorded", "recorded_model_id": str(recorded.public_id)}, "random-choice"]
    selection = {"selection": {"profile_ids": [version.profile_id]}, "coverage": {"mode": "full"}}
    run = work(start(theirs, actor, subjects=subjects, name=f"{mark} shared run", **selection))
    share = create_share(get_run(theirs, run.public_id), get_result(run), actor=actor, choices=Choices(shows_samples=True, shows_cost=True))
    link = link_of(share)
    assert link is not None
    return {"token": link.rpartition("/")[2], "share_id": str(share.public_id), "publication_id": str(share.public_id)}


def make_world() -> World:
    """Both workspaces. The public catalog has one benchmark and one route."""
    factories.make_version(factories.make_benchmark("sums"))
    factories.make_route("example/small")
    ours = factories.make_workspace(f"{MARK} workspace", credit=10_000_000)
    people = {role: factories.make_user(f"{role}@example.org", workspace=ours, role=role) for role in Role}
    theirs = factories.make_workspace("Theirs", credit=10_000_000)
    stranger = factories.make_user("stranger@example.org", workspace=theirs, role=Role.OWNER)
    ids = _furnish(ours, people[Role.OWNER], MARK)
    factories.make_version(factories.make_benchmark(workspace=theirs))
    _, stranger_key = factories.make_key(theirs)
    ids["user_id"] = str(people[Role.OWNER].public_id)
    ids |= _begin_import(ours, people[Role.MEMBER], MARK)
    ids["route_id"] = "example/small"
    ids |= _share(MARK)
    ids["number"] = "1"  # of a task of the recorded comparison, which is nobody's
    return World(ours, people, stranger, stranger_key, ids)
