"""The Hub over TLS, as it is in truth: the certificate is checked, and the deadline holds there too."""

import ssl
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.imports.hub import MMLU_FILES, NAME, refusal, taken
from tests.standins.http import Reply
from tests.standins.hub import HubServer, card
from workspaces.actors import Actor
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db
PATH = "algebra/test-00000-of-00001.parquet"


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for 127.0.0.1 with its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hub")]), datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path / "hub.pem"
    plain = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file.write_bytes(plain + made.public_bytes(serialization.Encoding.PEM))
    return file


@pytest.fixture
def tls_hub(certificate: Path, settings: Any) -> Iterator[HubServer]:
    from huggingface_hub import close_session

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with HubServer(tls=context) as server:
        server.add(NAME, {"README.md": card("mit"), **MMLU_FILES})
        settings.HF_ENDPOINT, settings.HF_FILE_HOSTS = server.url, [server.cdn_host]
        close_session()
        yield server
        close_session()


def test_import_over_tls_with_a_certificate_that_is_trusted(
    workspace: Workspace, actor: Actor, tls_hub: HubServer, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))

    assert taken(workspace, actor, files=[PATH]).files.get().content.bytes == len(MMLU_FILES[PATH])
    assert [asked.server for asked in tls_hub.asked][-1] == "cdn"


def test_certificate_that_is_not_trusted_is_refused(workspace: Workspace, actor: Actor, tls_hub: HubServer) -> None:
    assert refusal(workspace, actor, files=[PATH]) == ("hub_unavailable", 502)
    assert tls_hub.asked == []


def test_download_without_tls_is_not_followed(
    workspace: Workspace, actor: Actor, tls_hub: HubServer, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    plain = Reply(302, "", {"Location": f"http://{tls_hub.cdn_host}/x"})
    tls_hub.fault = lambda asked, _: plain if asked.path.endswith(PATH) else None

    assert refusal(workspace, actor, files=[PATH]) == ("hub_unavailable", 502)


def test_answer_that_is_dripped_over_tls_ends_with_the_time(
    workspace: Workspace, actor: Actor, tls_hub: HubServer, certificate: Path, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    settings.HF_IMPORT_SECONDS = 1.5
    tls_hub.fault = lambda asked, _: Reply(body={}, drip=0.2)
    began = time.monotonic()

    assert refusal(workspace, actor, files=[PATH]) == ("hub_unavailable", 502)
    assert time.monotonic() - began < 4
