"""The code with which receivers check signatures, as the documentation and the settings page show it."""

import json
import re
import subprocess
import sys
import time
from pathlib import Path

from common.webhooks import new_secret, signed_headers
from runs.views.notices import example

ROOT = Path(__file__).resolve().parent.parent.parent
VECTOR = ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
"""The example that implementations of Standard Webhooks are tested with."""


def documented() -> str:
    found = re.search(r"```python\n(.*?)```", (ROOT / "docs" / "notices.md").read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1].strip()


def test_page_and_documentation_show_the_code_that_is_tested() -> None:
    assert documented() == example()


def test_documented_code_works_by_itself(tmp_path: Path) -> None:
    """In a Python without anything of ours: genuine, another body, another secret, too old."""
    (tmp_path / "receiving.py").write_text(documented(), encoding="utf-8")
    secret, body, now = new_secret(), '{"type":"run.ended","name":"Größe"}'.encode(), int(time.time())
    cases = []
    for at, sent in ((now, body), (now, body + b" "), (now - 3600, body)):
        cases.append([secret, signed_headers([secret], "m", at, body), sent.decode()])
    cases.append([new_secret(), cases[0][1], body.decode()])
    cases.append([secret, signed_headers([new_secret(), secret], "m", now, body), body.decode()])
    script = "import json, sys, receiving\nprint([receiving.is_genuine(s, h, b.encode()) for s, h, b in json.load(sys.stdin)])"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{script}"],
        input=json.dumps(cases), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "[True, False, False, False, True]"


def test_signature_is_that_of_the_convention() -> None:
    secret, message_id, timestamp, body = VECTOR
    assert signed_headers([secret], message_id, timestamp, body) == {
        "webhook-id": message_id,
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
