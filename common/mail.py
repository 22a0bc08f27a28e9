"""Sending mail; and where no mail server is set: each message is printed to the console and kept in a file."""

import smtplib
import sys
from collections.abc import Iterable
from typing import Any

import structlog
from django.conf import settings
from django.core.mail import EmailMessage, EmailMultiAlternatives
from django.core.mail.backends.filebased import EmailBackend as FileBackend
from django.template.loader import render_to_string

log = structlog.get_logger(__name__)


def send_each(template: str, recipients: Iterable[str], context: dict[str, Any], *, headers: dict[str, str] | None = None) -> int:
    """Mail everybody by themselves what `<template>_subject.txt`, `_message.txt` and `_message.html` say, under further headers.

    Returns how many were handed over. What a mail server refuses is logged. Raises OSError (smtplib's errors are some) where it took none.
    """
    everything = {"site_url": settings.SITE_URL, **context}
    subject = " ".join(render_to_string(f"{template}_subject.txt", everything).split())
    text = render_to_string(f"{template}_message.txt", everything)
    html = render_to_string(f"{template}_message.html", everything)
    sent, refused = 0, None
    for recipient in recipients:
        message = EmailMultiAlternatives(subject, text.strip() + "\n", to=[recipient], headers=headers)
        message.attach_alternative(html, "text/html")
        try:
            sent += message.send()
        except (smtplib.SMTPException, OSError) as error:
            refused = error
            log.warning("mail.not_sent", template=template, error=type(error).__name__)
    if refused is not None and not sent:
        raise refused
    return sent


class ConsoleAndFileBackend(FileBackend):
    """Writes every message to a file below `file_path`, and to standard output, where a person who tries the product sees it."""

    def write_message(self, message: EmailMessage) -> None:
        """The file holds the whole message; its texts are not folded, so that a link can be copied from it in one piece."""
        written = message.message()
        for part in written.walk():
            if part.get_content_maintype() == "text":
                part.set_content(part.get_content(), subtype=part.get_content_subtype(), cte="8bit")
        self.stream.write(written.as_bytes() + b"\n" + b"-" * 79 + b"\n")  # type: ignore[arg-type]
        recipients = ", ".join(message.recipients())
        sys.stdout.write(f"\n── mail to {recipients}: {message.subject}\n{message.body}\n──\n")
        sys.stdout.flush()
