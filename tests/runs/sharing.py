"""A run that could leak: everything the workspace named itself bears `SECRET`, and its link must not."""

from typing import Any

from gateway.models import CallContent
from runs.models import Run, Sample
from tests import factories
from tests.runs.working import start, sums, work
from tests.standins.chat import ChatServer
from workspaces.actors import actor_of_user
from workspaces.enums import Role
from workspaces.models import User, Workspace

SECRET = "okapi-5309"


def make_telling_run(workspace: Workspace, *, export_policy: str = "full", tasks: int = 6) -> tuple[Run, User]:
    """A run of a managed model, an own endpoint and a recording on a public benchmark, and who started it.

    The recording answers all but the last task, which is an error; an error of the own endpoint has a text that names it.
    """
    owner = factories.make_user(f"{SECRET}@example.org", workspace=workspace, role=Role.OWNER, name=f"{SECRET} person")
    version = factories.make_version(factories.make_benchmark("adding", name="Adding"), tasks=tasks, export_policy=export_policy)
    with ChatServer(sums) as server:
        route = factories.make_route("example/small", endpoint=server.url)
        own = factories.make_connection(
            workspace, name=f"{SECRET} lab", endpoint=server.url, model=f"{SECRET}-13b", api_key=f"{SECRET}-key"
        )
        recorded = factories.make_recorded_model(
            version, {f"t{n}": f"It is {n}." for n in range(tasks - 1)}, workspace=workspace, name=f"{SECRET} old"
        )
        request: dict[str, Any] = {
            "subjects": [
                {"kind": "managed", "route_id": route.route_id},
                {"kind": "connection", "connection_id": str(own.public_id)},
                {"kind": "recorded", "recorded_model_id": str(recorded.public_id)},
                "most-frequent-answer",
            ],
            "selection": {"profile_ids": [version.profile_id]},
            "coverage": {"mode": "full"},
            "name": f"{SECRET} run",
            "metadata": {"ticket": f"{SECRET} ticket"},
        }
        run = work(start(workspace, actor_of_user(owner), **request))
    assert run.status in {"completed", "failed"}, run.status
    sample = Sample.objects.get(subject__run=run, subject__index=1, position=0)
    Sample.objects.filter(pk=sample.pk).update(status="error", error_code="provider_error", correct=None, score=None)
    CallContent.objects.filter(call__source_id=sample.public_id).update(error_message=f"{SECRET} said no", response="")
    return run, owner
