"""E-mail: to the person who started a run, and to a workspace's admins where an endpoint was turned off by itself.

Whether the person is still a member, and the address is shown to be theirs, is asked when the mail is sent, not when it was written down.
"""

import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from smtplib import SMTPException
from typing import Any

import orjson
import structlog
from allauth.account.models import EmailAddress
from django.conf import settings
from django.db.models import F, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from yarl import URL

from common.jobs import enqueue
from common.mail import send_each
from runs.documents import comparisons_of
from runs.enums import Phase
from runs.models import ResultVersion, Run
from runs.models.notices import NoticeMail, WebhookEndpoint
from runs.notices.enums import EventType, MailState, OffReason
from runs.notices.jobs import HINT_LIFETIME, MAIL
from runs.queries import get_run
from runs.wording import coverage_words
from workspaces.models import Membership, User, Workspace
from workspaces.queries import addresses_of_admins

log = structlog.get_logger(__name__)

WAITS = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 30, 120))
MOST_TRIES = len(WAITS) + 1
LEASE = timedelta(minutes=10)
TURN_SECONDS = 20.0
MOST_NAMED = 8


def is_due(now: datetime) -> bool:
    return _due(now).exists() or _untold().exists()


def mail_due() -> int:
    """Send what is due until nothing is, or for a while. Returns how many mails were sent."""
    began, sent = time.monotonic(), 0
    for endpoint in list(_untold().select_related("workspace")[:100]):
        sent += _tell_off(endpoint)
    for key in list(_due(timezone.now()).order_by("next_try_at", "id").values_list("pk", flat=True)[:100]):
        sent += _work(key)
        if time.monotonic() - began > TURN_SECONDS:
            enqueue(MAIL, expires=HINT_LIFETIME)
            break
    return sent


def _due(now: datetime) -> QuerySet[NoticeMail]:
    return NoticeMail.objects.filter(state=MailState.PENDING, next_try_at__lte=now)


def _work(key: int) -> bool:
    """Send one mail, where nobody else has it: whoever changes its row first does. Returns whether it was sent."""
    now = timezone.now()
    if not _due(now).filter(pk=key).update(tries=F("tries") + 1, next_try_at=now + LEASE):
        return False
    mail = NoticeMail.objects.select_related("event__workspace", "event__run", "user").get(pk=key)
    mine = NoticeMail.objects.filter(pk=key, state=MailState.PENDING, tries=mail.tries)
    address = verified_address(mail.user, mail.event.workspace)
    if address is None or _is_stale(mail):
        mine.update(state=MailState.DROPPED)
        return False
    template, context = _letter(mail)
    try:
        send_each(template, [address], context, headers={"List-Unsubscribe": f"<{_settings_url()}>"})
    except (SMTPException, OSError) as error:
        is_over = mail.tries >= MOST_TRIES
        again = now + LEASE if is_over else timezone.now() + WAITS[mail.tries - 1]
        mine.update(state=MailState.FAILED if is_over else MailState.PENDING, last_error=type(error).__name__, next_try_at=again)
        return False
    mine.update(state=MailState.SENT, sent_at=timezone.now(), last_error="")
    return True


def verified_address(user: User, workspace: Workspace) -> str | None:
    """Where the person is written to about the workspace; None for one who left it, is not active, or has not shown the address theirs."""
    if not user.is_active or not Membership.objects.filter(user=user, workspace=workspace).exists():
        return None
    is_shown = EmailAddress.objects.filter(user=user, email__iexact=user.email, verified=True).exists()
    return user.email if is_shown else None


def _is_stale(mail: NoticeMail) -> bool:
    """Whether it would tell of a wait that is over."""
    run = mail.event.run
    return run is None or (mail.event.type == EventType.WAITING and run.phase != Phase.WAITING)


def _settings_url() -> str:
    return settings.SITE_URL + reverse("runs:notices")


# ── The letters ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _letter(mail: NoticeMail) -> tuple[str, dict[str, Any]]:
    """The template, and what it needs."""
    assert mail.event.run is not None
    run = get_run(mail.event.workspace, mail.event.run.public_id)
    href = f"{settings.SITE_URL}{reverse('runs:report', args=[run.public_id])}"
    context = {"run": run, "name": name_of(run), "href": href, "settings_url": _settings_url(), "coverage": list(_coverage(run))}
    if mail.event.type == EventType.WAITING:
        since = parse_datetime(str(mail.event.document["data"]["run"]["waiting_since"]))
        return "runs/email/run_waiting", {**context, "since": since}
    return "runs/email/run_ended", {**context, "results": list(result_lines(run)), "unfinished": run.planned - run.processed}


def name_of(run: Run) -> str:
    """What people call the run: its name, else its benchmarks'."""
    return run.name or ", ".join(each.version.benchmark.name for each in run.benchmarks.all())


def _coverage(run: Run) -> Iterator[str]:
    for each in run.benchmarks.all():
        yield f"{each.version.benchmark.name} ({each.version.profile_id}): {coverage_words(each.coverage)}"


def result_lines(run: Run) -> Iterator[str]:
    """A sentence for each benchmark: what the comparison says, or the score where one model ran."""
    result = ResultVersion.objects.filter(run=run).order_by("-number").first()
    if result is None:
        return
    subjects = orjson.loads(result.document)["subjects"]
    compared = {each["profile_id"]: each for each in comparisons_of(result)}
    benchmarks = list(run.benchmarks.all())
    for benchmark in benchmarks:
        mine = [each for each in subjects if each.get("benchmark_index", 0) == benchmark.index]
        found = compared.get(benchmark.version.profile_id, {})
        sentence = _score_words(mine[0]) if len(mine) == 1 else str(found.get("summary", ""))
        if sentence:
            yield sentence if len(benchmarks) == 1 else f"{benchmark.version.benchmark.name}: {sentence}"


def _score_words(subject: dict[str, Any]) -> str:
    """One model's score with its interval, in the words of its report."""
    headline = subject["headline"]
    if headline["value"] is None:
        return f"{subject['label']}: nothing was graded, so there is no score."
    low_high = headline.get("interval")
    between = f" ({low_high['low']:.1%} to {low_high['high']:.1%})" if low_high else ""
    return f"{subject['label']}: {headline['name'].lower()} {headline['value']:.1%}{between}."


# ── Endpoints that were turned off ──────────────────────────────────────────────────────────────────────────────────


def _untold() -> QuerySet[WebhookEndpoint]:
    return WebhookEndpoint.objects.filter(off_reason__in=[OffReason.GONE, OffReason.FAILING], off_told_at=None).order_by("pk")


def _tell_off(endpoint: WebhookEndpoint) -> bool:
    """Mail the admins once. Whoever marks it sends it; where no mail server took it the mark is taken back."""
    mine = WebhookEndpoint.objects.filter(pk=endpoint.pk, is_enabled=False)
    if not mine.filter(off_told_at=None).update(off_told_at=timezone.now()):
        return False
    context = {
        "workspace": endpoint.workspace,
        "host": URL(endpoint.url).host,
        "is_gone": endpoint.off_reason == OffReason.GONE,
        "days": settings.WEBHOOK_OFF_AFTER_DAYS,
        "href": settings.SITE_URL + reverse("runs:webhook", args=[endpoint.public_id]),
    }
    try:
        send_each("runs/email/webhook_off", addresses_of_admins(endpoint.workspace), context)
    except (SMTPException, OSError):
        mine.update(off_told_at=None)
        return False
    return True
