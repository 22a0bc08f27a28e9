"""What is told, and how telling it stands."""

from django.db import models


class EventType(models.TextChoices):
    """A run tells exactly one of the first two when it ends."""

    ENDED = "run.ended", "A run ended with every task worked"
    INTERRUPTED = "run.interrupted", "A run was interrupted, with tasks left"
    WAITING = "run.waiting", "A run waits for its provider"
    TEST = "webhook.test", "A test"


CHOOSABLE = (EventType.ENDED, EventType.INTERRUPTED, EventType.WAITING)
"""What an endpoint can be told."""


class DeliveryState(models.TextChoices):
    PENDING = "pending", "Waiting"
    DELIVERED = "delivered", "Delivered"
    FAILED = "failed", "Failed"


class MailState(models.TextChoices):
    PENDING = "pending", "Waiting"
    SENT = "sent", "Sent"
    DROPPED = "dropped", "Nobody to be told any more"
    FAILED = "failed", "Failed"


class EndedMail(models.TextChoices):
    """Of which runs that ended as planned a person wants mail."""

    LONG = "long", "When it took longer than 5 minutes"
    ALWAYS = "always", "Always"
    NEVER = "never", "Never"


class OffReason(models.TextChoices):
    """Why an endpoint is told nothing."""

    PERSON = "person", "Turned off"
    GONE = "gone", "It answered 410 Gone"
    FAILING = "failing", "It failed for days"
