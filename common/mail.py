"""Mail where no mail server is set: each message is printed to the console and kept in a file."""

import sys

from django.core.mail import EmailMessage
from django.core.mail.backends.filebased import EmailBackend as FileBackend


class ConsoleAndFileBackend(FileBackend):
    """Writes every message to a file below `file_path`, and to standard output, where a person who tries the product sees it."""

    def write_message(self, message: EmailMessage) -> None:
        super().write_message(message)
        recipients = ", ".join(message.recipients())
        sys.stdout.write(f"\n── mail to {recipients}: {message.subject}\n{message.body}\n──\n")
        sys.stdout.flush()
