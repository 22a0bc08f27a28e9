"""Mail where no mail server is set: each message is printed to the console and kept in a file."""

import sys

from django.core.mail import EmailMessage
from django.core.mail.backends.filebased import EmailBackend as FileBackend


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
