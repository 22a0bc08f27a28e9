"""Shared results: read by whoever has the link, signed in or not, and by nobody else.

Every answer, also the one that nothing is there, keeps the address out of caches, search engines and other sites' logs.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from common.encoding import encode_json
from common.errors import Refused
from common.pages import page_of
from evalrouter_site.api.throttling import ApiThrottle
from evalrouter_site.problems import TITLES
from runs.models import Run
from runs.models.sharing import Share
from runs.sharing import reading
from runs.sharing.actions import note_opening
from runs.sharing.queries import find_shared
from runs.views.samples import reference_text
from workspaces.queries import memberships_of_request

RATE = "1200/hour"
"""Pages of shared results for one address; tries of tokens that are none count too."""
SAMPLES_A_PAGE = 50
SHOWN = {"": "All", "failures": "Failures", "disagreements": "Disagreements"}
HEADERS = {
    "Cache-Control": "private, no-store",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
}

type SharedView = Callable[..., HttpResponse]


def shared_page(view: SharedView) -> Callable[..., HttpResponseBase]:
    """A page that the token in its address opens, within the rate. What the token does not open is not found."""

    @wraps(view)
    def wrapper(request: HttpRequest, token: str, *args: Any, **kwargs: Any) -> HttpResponseBase:
        throttle = ApiThrottle()
        if not throttle.is_within(RATE, "shared", throttle.get_ident(request)):  # type: ignore[arg-type]
            response = _problem(request, 429, "Many pages of shared results were opened from your address. Try again within the hour.")
            response["Retry-After"] = str(throttle.wait())
        else:
            try:
                share, run = find_shared(token)
                response = view(request, share, run, *args, token=token, **kwargs)
            except (Http404, ObjectDoesNotExist):
                response = _problem(request, 404, "The link may be mistyped, or it has expired, or who shared it has taken it back.")
            except Refused as refused:
                response = _problem(request, refused.status, refused.message)
        for name, value in HEADERS.items():
            response[name] = value
        return response

    return wrapper


def _problem(request: HttpRequest, status: int, message: str) -> HttpResponse:
    """What went wrong, on a page without forms: where no referrer is sent, none of them would be taken."""
    return render(request, "shared/problem.html", {"heading": TITLES[status], "message": message}, status=status)


@require_safe
@shared_page
def shared(request: HttpRequest, share: Share, run: Run, *, token: str) -> HttpResponse:
    """The result, as its preview showed it. Opening it is counted, but not for the members who can see the run anyway."""
    benchmark = reading.chosen_benchmark(run, request.GET.get("benchmark", ""))
    context = {
        **reading.page_of_result(run, share.result, reading.choices_of(share), benchmark),
        "samples_href": reverse("shared_samples", args=[token]),
        "json_href": f"{reverse('shared_json', args=[token])}?benchmark={benchmark.index}",
    }
    response = render(request, "shared/result.html", context)
    is_member = any(membership.workspace_id == run.workspace_id for membership in memberships_of_request(request))
    if request.method == "GET" and not is_member:
        note_opening(share)
    return response


@require_safe
@shared_page
def shared_json(request: HttpRequest, share: Share, run: Run, *, token: str) -> HttpResponse:
    """The same figures as a document."""
    benchmark = reading.chosen_benchmark(run, request.GET.get("benchmark", ""))
    document = reading.shown_of(run, share.result, reading.choices_of(share), benchmark)
    headers = {"Content-Disposition": 'attachment; filename="result.json"'}
    return HttpResponse(encode_json(document), content_type="application/json", headers=headers)


@require_safe
@shared_page
def shared_samples(request: HttpRequest, share: Share, run: Run, *, token: str) -> HttpResponse:
    """The finished answers, where the link shows samples."""
    _require_samples(share)
    labels = reading.labels_of(share.result, reading.choices_of(share))
    show = request.GET.get("show", "") if request.GET.get("show", "") in SHOWN else ""
    subject = request.GET.get("subject", "").strip()
    index = next((each for each in labels if str(each) == subject), -1 if subject else None)
    listed = page_of(
        reading.samples_listed(run, subject=index, show=show), order="id", cursor=request.GET.get("cursor"), limit=SAMPLES_A_PAGE
    )
    context = {
        "token": token,
        "title": reading.title_of(share, run),
        "rows": listed.rows,
        "next_cursor": listed.next_cursor,
        "cursor": request.GET.get("cursor"),
        "names": labels,
        "models": _links(request, "subject", {"": "All models", **{str(each): label for each, label in sorted(labels.items())}}, subject),
        "segments": _links(
            request, "show", {key: words for key, words in SHOWN.items() if len(labels) > 1 or key != "disagreements"}, show
        ),
        "expired": run.content_expired_at is not None,
    }
    return render(request, "shared/samples.html", context)


@require_safe
@shared_page
def shared_sample(request: HttpRequest, share: Share, run: Run, position: int, *, token: str) -> HttpResponse:
    """One task with every model's answer, as far as the benchmark's rights go."""
    _require_samples(share)
    labels = reading.labels_of(share.result, reading.choices_of(share))
    shown = reading.task_shown(run, position, labels, shows_cost=share.shows_cost)
    context = {
        **shown,
        "token": token,
        "title": reading.title_of(share, run),
        "reference_words": reference_text(shown["reference"]) if shown["shows_reference"] else "",
        "several_attempts": any(answer["attempt"] > 1 for answer in shown["answers"]),
    }
    return render(request, "shared/sample.html", context)


def _require_samples(share: Share) -> None:
    if not share.shows_samples:
        raise Http404


def _links(request: HttpRequest, name: str, choices: dict[str, str], chosen: str) -> list[dict[str, Any]]:
    """Links that choose one value of a filter and keep the other: a shared page has no form."""
    found = []
    for value, label in choices.items():
        query = request.GET.copy()
        query.pop("cursor", None)
        query[name] = value
        found.append({"label": label, "href": f"?{query.urlencode()}", "is_current": value == chosen})
    return found
