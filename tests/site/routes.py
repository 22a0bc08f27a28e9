"""The URL table, classified: who may ask what. `test_urls` fails for a route that is not here, and for a line here without a route.

Each line: the route, what kind it is, and the least role for each verb it takes ("GET viewer, POST member").

- PUBLIC: answers everyone alike.
- FLOW: signing in and up, and a person's own credentials; allauth's, tested with it.
- OWN: signed-in people see and change what is theirs; names no object. A role is that in the workspace the person works in.
- OBJECT: names an object of a workspace. Strangers get 404, whatever the verb.
- CATALOG: names something of the catalog, which everyone may read where it is public and only its workspace where it is private.
- STAFF: a page of the site's staff; nobody else finds it. Its own test says so.
- SIGNED: told by another service, which signs what it says. Its own test says so.
- MISSING: catches addresses that do not exist.
"""

from dataclasses import dataclass

from django.urls import URLPattern, URLResolver, get_resolver

from workspaces.enums import RANK, Role

PUBLIC, FLOW, OWN, OBJECT, CATALOG, STAFF, SIGNED, MISSING = "PUBLIC", "FLOW", "OWN", "OBJECT", "CATALOG", "STAFF", "SIGNED", "MISSING"

TABLE = """
                                                                PUBLIC  GET
command                                                         PUBLIC  GET
design                                                          STAFF
webhooks/stripe                                                 SIGNED
verify                                                          PUBLIC  GET, POST
verify/verify_bundle.py                                         PUBLIC  GET
shared/<slug:token>                                             PUBLIC  GET
shared/<slug:token>/result.json                                 PUBLIC  GET
shared/<slug:token>/samples                                     PUBLIC  GET
shared/<slug:token>/samples/<int:position>                      PUBLIC  GET
.well-known/evalrouter-keys.json                                PUBLIC  GET
healthz                                                         PUBLIC  GET
readyz                                                          PUBLIC  GET
openapi.json                                                    PUBLIC  GET
.well-known/openapi.json                                        PUBLIC  GET

register                                                        FLOW
login                                                           FLOW
accounts/logout/                                                FLOW
accounts/inactive/                                              FLOW
accounts/reauthenticate/                                        FLOW
accounts/email/                                                 FLOW
accounts/confirm-email/                                         FLOW
accounts/^confirm-email/(?P<key>[-:\\w]+)/$                      FLOW
accounts/password/change/                                       FLOW
accounts/password/set/                                          FLOW
accounts/password/reset/                                        FLOW
accounts/password/reset/done/                                   FLOW
accounts/^password/reset/key/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$  FLOW
accounts/password/reset/key/done/                               FLOW

workspace                                                       OWN     POST viewer
settings/account                                                OWN     GET viewer, POST viewer
settings/account/density                                        OWN     POST viewer
settings/account/workspaces                                     OWN     POST viewer
settings/workspace                                              OWN     GET viewer, POST admin
settings/members                                                OWN     GET viewer, POST admin
settings/members/<uuid:user_id>/role                            OBJECT  POST admin
settings/members/<uuid:user_id>/removal                         OBJECT  POST admin
settings/api-keys                                               OWN     GET viewer, POST admin
settings/api-keys/<uuid:key_id>                                 OBJECT  GET viewer, POST admin
settings/api-keys/<uuid:key_id>/roll                            OBJECT  POST admin
settings/api-keys/<uuid:key_id>/revocation                      OBJECT  POST admin
settings/api-keys/<uuid:key_id>/ceiling                         OBJECT  GET viewer, POST admin
settings/api-keys/<uuid:key_id>/month                           OBJECT  POST admin
settings/integrations                                           OWN     GET viewer
settings/integrations/github                                    OWN     POST admin
settings/integrations/github/return                             OWN     GET viewer
settings/integrations/github/<uuid:github_id>/disconnection     OBJECT  POST admin
settings/notices                                                OWN     GET viewer, POST viewer
settings/notices/webhooks/new                                   OWN     GET admin, POST admin
settings/notices/webhooks/<uuid:endpoint_id>                    OBJECT  GET admin, POST admin
settings/notices/webhooks/<uuid:endpoint_id>/secret             OBJECT  POST admin
settings/notices/webhooks/<uuid:endpoint_id>/test               OBJECT  POST admin
settings/notices/webhooks/<uuid:endpoint_id>/deletion           OBJECT  GET admin, POST admin
settings/notices/deliveries                                     OWN     GET admin
settings/notices/deliveries/<uuid:delivery_id>                  OBJECT  GET admin
settings/notices/deliveries/<uuid:delivery_id>/again            OBJECT  POST admin
settings/billing                                                OWN     GET viewer
settings/billing/monthly-limit                                  OWN     POST admin
settings/billing/ledger.csv                                     OWN     GET viewer
settings/billing/spending                                       OWN     GET viewer
settings/billing/purchase                                       OWN     GET admin, POST admin
settings/billing/top-up                                         OWN     POST admin
settings/billing/top-up/card-removal                            OWN     POST admin
settings/billing/payments/<uuid:payment_id>                     OBJECT  GET viewer

catalog                                                         PUBLIC  GET
catalog/import                                                  OWN     GET member
catalog/import/upload                                           OWN     POST member
catalog/import/upload/<uuid:upload_id>/abandonment              OBJECT  POST member
catalog/import/selection                                        OWN     POST member
catalog/import/huggingface                                      OWN     POST member
catalog/import/github                                           OWN     POST member
catalog/import/copy                                             OWN     POST member
catalog/import/<uuid:draft_id>                                  OBJECT  GET member
catalog/import/<uuid:draft_id>/discarding                       OBJECT  POST member
catalog/import/<uuid:draft_id>/source                           OBJECT  GET member
catalog/import/<uuid:draft_id>/preview                          OBJECT  GET member, POST member
catalog/import/<uuid:draft_id>/mapping                          OBJECT  GET member, POST member
catalog/import/<uuid:draft_id>/grading                          OBJECT  GET member, POST member
catalog/import/<uuid:draft_id>/rights                           OBJECT  GET member, POST member
catalog/import/<uuid:draft_id>/check                            OBJECT  GET member, POST member
catalog/import/<uuid:draft_id>/check/cancellation               OBJECT  POST member
catalog/import/<uuid:draft_id>/check/rows.csv                   OBJECT  GET member
catalog/import/<uuid:draft_id>/create                           OBJECT  GET member, POST member
catalog/import/recorded                                         OWN     GET member, POST member
catalog/import/recorded/<uuid:upload_id>                        OBJECT  GET member, POST member
catalog/recorded/<uuid:model_id>                                OBJECT  GET viewer
catalog/recorded/<uuid:model_id>/archiving                      OBJECT  POST member
catalog/recorded/benchmarks/<slug:slug>                         CATALOG GET viewer
catalog/<slug:slug>                                             CATALOG GET
catalog/<slug:slug>/health                                      CATALOG GET
catalog/<slug:slug>/leaderboard                                 CATALOG GET
catalog/<slug:slug>/archiving                                   OBJECT  GET member, POST member
models                                                          PUBLIC  GET
models/<path:route_id>                                          PUBLIC  GET

onboarding                                                      OWN     GET viewer
onboarding/closure                                              OWN     POST viewer
onboarding/comparison                                           OWN     GET viewer
onboarding/comparison/tasks/<int:number>                        OWN     GET viewer

connections                                                     OWN     GET viewer
connections/new                                                 OWN     GET admin, POST admin
connections/<uuid:connection_id>                                OBJECT  GET viewer, POST admin
connections/<uuid:connection_id>/check                          OBJECT  POST member
connections/<uuid:connection_id>/key                            OBJECT  GET admin, POST admin
connections/<uuid:connection_id>/deletion                       OBJECT  GET admin, POST admin

evaluations                                                     OWN     GET viewer
evaluations/new                                                 OWN     GET member, POST member
evaluations/quotes/<uuid:quote_id>                              OBJECT  GET viewer
evaluations/quotes/<uuid:quote_id>/start                        OBJECT  POST member
evaluations/benchmarks/<slug:slug>                              CATALOG GET viewer
evaluations/benchmarks/<slug:slug>/health                       CATALOG GET viewer
evaluations/groups                                              OWN     GET viewer
evaluations/groups/new                                          OWN     GET member, POST member
evaluations/groups/<uuid:group_id>                              OBJECT  GET viewer
evaluations/groups/<uuid:group_id>/comparison                   OBJECT  GET viewer
evaluations/groups/<uuid:group_id>/export/<str:file_format>     OBJECT  GET viewer
evaluations/<uuid:run_id>                                       OBJECT  GET viewer
evaluations/<uuid:run_id>/cancellation                          OBJECT  GET member, POST member
evaluations/<uuid:run_id>/continuation                          OBJECT  GET member, POST member
evaluations/<uuid:run_id>/comparison                            OBJECT  GET viewer
evaluations/<uuid:run_id>/comparison/<str:table>                OBJECT  GET viewer
evaluations/<uuid:run_id>/difference                            OBJECT  GET viewer
evaluations/<uuid:run_id>/disagreements                         OBJECT  GET viewer
evaluations/<uuid:run_id>/export/<str:wanted>                   OBJECT  GET viewer
evaluations/<uuid:run_id>/exports                               OBJECT  GET viewer
evaluations/<uuid:run_id>/gradings                              OBJECT  GET viewer, POST member
evaluations/<uuid:run_id>/gradings/<int:grading_number>                 OBJECT  GET viewer
evaluations/<uuid:run_id>/samples                               OBJECT  GET viewer
evaluations/<uuid:run_id>/samples/<int:position>                OBJECT  GET viewer
evaluations/<uuid:run_id>/sharing                               OBJECT  GET viewer, POST member
evaluations/<uuid:run_id>/sharing/preview                       OBJECT  GET member
evaluations/<uuid:run_id>/sharing/<uuid:share_id>/revocation    OBJECT  POST member
evaluations/<uuid:run_id>/publishing                            OBJECT  GET viewer, POST owner
evaluations/<uuid:run_id>/publishing/<uuid:publication_id>/withdrawal  OBJECT  POST admin
evaluations/<uuid:run_id>/samples/<uuid:sample_id>/notes        OBJECT  POST member
evaluations/<uuid:run_id>/samples/<uuid:sample_id>/notes/<uuid:note_id>  OBJECT  POST member
evaluations/<uuid:run_id>/samples/<uuid:sample_id>/notes/<uuid:note_id>/deletion  OBJECT  POST member
evaluations/<uuid:run_id>/samples/<uuid:sample_id>/override     OBJECT  POST member
evaluations/<uuid:run_id>/samples/<uuid:sample_id>/override/withdrawal  OBJECT  POST member
evaluations/<uuid:run_id>/reviews                               OBJECT  GET viewer

v1/account                                                      OWN     GET viewer
v1/workspaces                                                   OWN     GET viewer
v1/workspaces/<uuid:workspace_id>                               OBJECT  GET viewer
v1/api-keys                                                     OWN     GET admin, POST admin
v1/api-keys/<uuid:key_id>                                       OBJECT  GET admin, PATCH admin, DELETE admin
v1/api-keys/<uuid:key_id>/roll                                  OBJECT  POST admin
v1/billing/wallet                                               OWN     GET viewer
v1/billing/entries                                              OWN     GET viewer
v1/billing/usage                                                OWN     GET viewer
v1/billing/payments                                             OWN     GET viewer
v1/billing/limits                                               OWN     GET viewer
v1/billing/alerts                                               OWN     GET viewer
v1/benchmarks                                                   PUBLIC  GET
v1/benchmarks/<slug:slug>                                       CATALOG GET
v1/benchmarks/<slug:slug>/health                                CATALOG GET
v1/benchmarks/<slug:slug>/leaderboard                           CATALOG GET
v1/evals                                                        PUBLIC  GET
v1/catalog/tasks                                                PUBLIC  GET
v1/recorded-models                                              OWN     GET viewer, POST member
v1/recorded-models/<uuid:model_id>                              OBJECT  GET viewer
v1/recorded-models/<uuid:model_id>/agreement                    OBJECT  GET viewer
v1/recorded-models/<uuid:model_id>/archive                      OBJECT  POST member
v1/models                                                       PUBLIC  GET
v1/benchmark-imports/huggingface                                OWN     POST member
v1/benchmark-imports/github                                     OWN     POST member
v1/benchmark-imports/github/refs                                OWN     POST member
v1/benchmark-imports/github/preview                             OWN     POST member
v1/private-benchmarks                                           OWN     GET viewer, POST member
v1/private-benchmarks/<byob:benchmark_id>                       OBJECT  GET viewer
v1/private-benchmarks/<byob:benchmark_id>/archive               OBJECT  POST member
v1/benchmark-imports/capabilities                               OWN     GET member
v1/benchmark-uploads                                            OWN     GET member, POST member
v1/benchmark-uploads/<uuid:upload_id>                           OBJECT  GET member, DELETE member
v1/benchmark-uploads/<uuid:upload_id>/files/<str:file_name>     OBJECT  PUT member
v1/benchmark-uploads/<uuid:upload_id>/complete                  OBJECT  POST member
v1/benchmark-uploads/<uuid:upload_id>/archive                   OBJECT  POST member
v1/connections                                                  OWN     GET viewer, POST admin
v1/connections/<uuid:connection_id>                             OBJECT  GET viewer, PATCH admin, DELETE admin
v1/connections/<uuid:connection_id>/check                       OBJECT  POST member
v1/quotes                                                       OWN     GET viewer, POST member
v1/quotes/<uuid:quote_id>                                       OBJECT  GET viewer
v1/runs                                                         OWN     GET viewer, POST member
v1/runs/<uuid:run_id>                                           OBJECT  GET viewer
v1/runs/<uuid:run_id>/cancel                                    OBJECT  POST member
v1/runs/<uuid:run_id>/continue                                  OBJECT  POST member
v1/runs/<uuid:run_id>/events                                    OBJECT  GET viewer
v1/runs/<uuid:run_id>/attempts                                  OBJECT  GET viewer
v1/runs/<uuid:run_id>/results                                   OBJECT  GET viewer
v1/runs/<uuid:run_id>/compare                                   OBJECT  GET viewer
v1/runs/<uuid:run_id>/disagreements                             OBJECT  GET viewer
v1/runs/<uuid:run_id>/samples                                   OBJECT  GET viewer
v1/runs/<uuid:run_id>/samples/<uuid:sample_id>                  OBJECT  GET viewer
v1/runs/<uuid:run_id>/samples/<uuid:sample_id>/notes            OBJECT  GET viewer, POST member
v1/runs/<uuid:run_id>/samples/<uuid:sample_id>/notes/<uuid:note_id>  OBJECT  PATCH member, DELETE member
v1/runs/<uuid:run_id>/samples/<uuid:sample_id>/override         OBJECT  PUT member, DELETE member
v1/runs/<uuid:run_id>/reviews                                   OBJECT  GET viewer
v1/runs/<uuid:run_id>/reviews/figures                           OBJECT  GET viewer
v1/runs/<uuid:run_id>/gradings                                  OBJECT  GET viewer, POST member
v1/runs/<uuid:run_id>/gradings/<int:grading_number>             OBJECT  GET viewer
v1/runs/<uuid:run_id>/gradings/<int:grading_number>/flips       OBJECT  GET viewer
v1/runs/<uuid:run_id>/export                                    OBJECT  GET viewer
v1/runs/<uuid:run_id>/receipt                                   OBJECT  GET viewer
v1/runs/<uuid:run_id>/shares                                    OBJECT  GET viewer, POST member
v1/runs/<uuid:run_id>/shares/<uuid:share_id>                    OBJECT  DELETE member
v1/result-groups                                                OWN     GET viewer, POST member
v1/result-groups/<uuid:group_id>                                OBJECT  GET viewer
v1/result-groups/<uuid:group_id>/export                         OBJECT  GET viewer
v1/comparisons                                                  OWN     GET viewer, POST member
v1/comparisons/<uuid:comparison_id>                             OBJECT  GET viewer
v1/webhook-endpoints                                            OWN     GET admin, POST admin
v1/webhook-endpoints/<uuid:endpoint_id>                         OBJECT  GET admin, PATCH admin, DELETE admin
v1/webhook-endpoints/<uuid:endpoint_id>/secret                  OBJECT  POST admin
v1/webhook-endpoints/<uuid:endpoint_id>/test                    OBJECT  POST admin
v1/webhook-deliveries                                           OWN     GET admin
v1/webhook-deliveries/<uuid:delivery_id>                        OBJECT  GET admin
v1/webhook-deliveries/<uuid:delivery_id>/redeliver              OBJECT  POST admin
v1                                                              MISSING
v1/^.*$                                                         MISSING
"""

VERBS = ("GET", "POST", "PATCH", "PUT", "DELETE")


@dataclass(frozen=True, slots=True)
class Route:
    """A classified line. `verbs` maps each verb that the route takes to its least role, None where it needs none."""

    pattern: str
    kind: str
    verbs: dict[str, Role | None]

    @property
    def is_api(self) -> bool:
        return self.pattern == "v1" or self.pattern.startswith("v1/")

    def roles_below(self, verb: str) -> list[Role]:
        """The roles that may see the workspace and not do this."""
        least = self.verbs[verb]
        return [] if least is None else [role for role in Role if RANK[role] < RANK[least]]

    def __str__(self) -> str:
        return self.pattern or "/"


def _parse(line: str) -> Route:
    pattern, _, rest = ("", "", line.strip()) if line.startswith(" ") else line.partition("  ")
    kind, _, verbs = rest.strip().partition(" ")
    named = [entry.strip().partition(" ") for entry in verbs.split(",") if entry.strip()]
    return Route(pattern.strip(), kind, {verb: Role(role) if role else None for verb, _, role in named})


ROUTES = {route.pattern: route for route in map(_parse, filter(str.strip, TABLE.splitlines()))}


def patterns() -> list[str]:
    """Every route there is, but the admin's, which Django guards as a whole."""

    def walk(entries: list[URLPattern | URLResolver], prefix: str) -> list[str]:
        found = []
        for entry in entries:
            path = prefix + str(entry.pattern)
            found += [path] if isinstance(entry, URLPattern) else walk(entry.url_patterns, path)
        return found

    return [pattern for pattern in walk(get_resolver().url_patterns, "") if not pattern.startswith("admin/")]
