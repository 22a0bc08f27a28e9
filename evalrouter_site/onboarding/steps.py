"""The three steps to a first own run, and which of them the person has taken."""

from dataclasses import dataclass
from typing import Literal

from django.urls import reverse
from django.utils import timezone

from evalrouter_site.queries import OwnStart
from runs.enums import QuoteStatus
from runs.models import Quote
from workspaces.enums import RANK, Role
from workspaces.models import Membership

State = Literal["done", "current", "todo"]


@dataclass(frozen=True, slots=True)
class Link:
    label: str
    href: str


@dataclass(frozen=True, slots=True)
class Step:
    """A step in words, with where to take it; `found` names what it was done with."""

    title: str
    text: str
    state: State
    links: tuple[Link, ...]
    found: str = ""


def steps_of(start: OwnStart) -> list[Step]:
    """The steps in order; the first that is not done is the current one. A quote names benchmark and models, so it is two at once."""
    is_quoted, is_started = start.quote is not None, start.run is not None
    return [
        Step(
            "Choose a benchmark",
            "One of the catalog, or your own data as a private one.",
            "done" if is_quoted else "current",
            (Link("Open the catalog", reverse("catalog:benchmarks")),),
            _benchmark(start.quote),
        ),
        Step(
            "Pick the models",
            "Up to eight. Two baselines are free and show what guessing scores; models have listed rates; your own endpoints are free.",
            "done" if is_quoted else "todo",
            (Link("See the models", reverse("catalog:models")), Link("Connect your own", reverse("gateway:connections"))),
            _models(start.quote),
        ),
        Step(
            "Read the quote, then start",
            "It says the most the run may charge and the smallest difference it can show. Nothing is charged before you start.",
            "done" if is_started else "current" if is_quoted else "todo",
            (_start_link(start),),
            _run(start),
        ),
    ]


def obstacle_of(membership: Membership | None) -> str:
    """Why the person cannot start a run where they work now, and what helps; empty where they can."""
    if membership is None:
        return "You are in no workspace. Make one in your account settings, or ask to be added to one."
    if RANK[Role(membership.role)] < RANK[Role.MEMBER]:
        where = membership.workspace.name
        return f"In {where} you may read, not run. Ask one of its admins to make you a member, or make a workspace of your own."
    return ""


def _benchmark(quote: Quote | None) -> str:
    return str(quote.plan_document["benchmark"]["name"]) if quote else ""


def _models(quote: Quote | None) -> str:
    """The first two by name, the rest counted."""
    if quote is None:
        return ""
    labels = [str(subject["label"]) for subject in quote.plan_document["subjects"]]
    rest = len(labels) - 2
    return ", ".join(labels[:2]) + (f" and {rest} more" if rest > 0 else "")


def _start_link(start: OwnStart) -> Link:
    """To what there is: the run, else an offer that still stands, else a new one."""
    if start.run is not None:
        return Link("Read the result" if start.run.is_ended else "Watch it", reverse("runs:report", args=[start.run.public_id]))
    if start.quote is not None and start.quote.status == QuoteStatus.OPEN and start.quote.expires_at > timezone.now():
        return Link("Open your quote", reverse("runs:quote", args=[start.quote.public_id]))
    return Link("Get a quote", reverse("runs:new_evaluation"))


def _run(start: OwnStart) -> str:
    if start.run is None:
        return ""
    return "Its result is there." if start.run.is_ended else "It is on its way."
