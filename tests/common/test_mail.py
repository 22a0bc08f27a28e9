"""Mail where no mail server is set."""

from email import message_from_bytes, policy
from pathlib import Path

import pytest
from django.core.mail import EmailMultiAlternatives

from common.mail import ConsoleAndFileBackend

LINK = "http://127.0.0.1:8000/accounts/confirm-email/" + "NA:1xXjJc:" + "k" * 120 + "/"


def test_kept_and_printed_mail_has_its_link_in_one_piece(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    message = EmailMultiAlternatives("Grüße", f"Open:\n\n{LINK}\n", "house@example.org", ["new@example.org"])
    message.attach_alternative(f'<p lang="de">Größer: <a href="{LINK}">öffnen</a></p>', "text/html")
    ConsoleAndFileBackend(alias="default", file_path=str(tmp_path)).send_messages([message])
    (kept,) = tmp_path.iterdir()
    raw = kept.read_bytes()
    assert raw.decode().count(LINK) == 2
    parsed = message_from_bytes(raw, policy=policy.default)
    assert (parsed["subject"], parsed["to"]) == ("Grüße", "new@example.org")
    bodies = [part.get_content().strip() for part in parsed.iter_parts()]
    assert bodies == [f"Open:\n\n{LINK}", f'<p lang="de">Größer: <a href="{LINK}">öffnen</a></p>']
    assert capsys.readouterr().out == f"\n── mail to new@example.org: Grüße\nOpen:\n\n{LINK}\n\n──\n"
