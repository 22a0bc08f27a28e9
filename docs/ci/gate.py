#!/usr/bin/env python3
"""A gate for releases: compare a candidate's result with a baseline's on an EvalRouter deployment, and exit by the decision.

    EVALROUTER_API_KEY=… python3 gate.py BASELINE CANDIDATE [CANDIDATE …] --max-drop 0.02

Needs Python 3.10 or newer and nothing else. A result is RUN_ID, or exactly RUN_ID:VERSION, RUN_ID:VERSION:MODEL or
RUN_ID:VERSION:MODEL:BENCHMARK, as in `0f3c…:1:0:gsm8k@1`. The key comes from the environment alone, needs the scope eval:write, and is sent
nowhere but to the base address.

Exits:
  0  every check passed
  1  a check failed
  3  inconclusive: no check failed, and the tasks are too few to tell, or the results were made in different ways
  2  not understood or refused: an argument, the key, a run that is not there or has not ended
  4  no answer, or none that can be read
2 and 4 decide nothing.
"""

import argparse
import json
import os
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from pathlib import Path

PASS, FAIL, REFUSED, INCONCLUSIVE, UNREACHED = 0, 1, 2, 3, 4
EXITS = {"pass": PASS, "fail": FAIL, "inconclusive": INCONCLUSIVE}
CHECKS = {"min_score": "least score", "max_drop": "largest drop", "min_coverage": "least coverage"}
OUTCOMES = {"pass": "pass", "fail": "FAIL", "cannot_tell": "cannot tell"}
PAUSE = 2.0
ASK_AGAIN = 10.0
LOCAL = ("localhost", "127.0.0.1", "::1")


class Stop(Exception):
    """What ends the script without a decision: its exit code and the words."""

    def __init__(self, code, words):
        super().__init__(words)
        self.code = code


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the key to another address: it is an answer like any other."""

    def redirect_request(self, *_):
        return None


def main(arguments=None):
    sys.stdout.reconfigure(errors="replace")
    try:
        return decide(read_arguments(arguments))
    except Stop as stop:
        print(f"gate: {stop}", file=sys.stderr)
        return stop.code
    except Exception as error:  # Python itself would exit 1, which is a decision
        print(f"gate: The answer could not be read: {type(error).__name__}: {error}", file=sys.stderr)
        return UNREACHED


def decide(wanted):
    """Ask, tell, and return the exit code of the decision."""
    comparison = compare(wanted)
    if comparison["decision"] not in EXITS:
        raise Stop(UNREACHED, f"The deployment made no decision: {comparison['decision']}.")
    print(told(comparison))
    if wanted.json:
        Path(wanted.json).write_text(json.dumps(comparison, indent=1, ensure_ascii=False), encoding="utf-8")
    if os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(os.environ["GITHUB_STEP_SUMMARY"]).open("a", encoding="utf-8") as file:
            file.write(told(comparison, is_markdown=True) + "\n")
    return EXITS[comparison["decision"]]


# What is asked


def read_arguments(arguments):
    """Arguments, and for what is not given the environment. Raises Stop for what cannot be meant."""
    env = os.environ.get
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("baseline", nargs="?", default=env("EVALROUTER_BASELINE"), help="a result; or EVALROUTER_BASELINE")
    parser.add_argument("candidates", nargs="*", help="one to seven results; or EVALROUTER_CANDIDATE, several with spaces between")
    parser.add_argument("--min-score", default=env("EVALROUTER_MIN_SCORE"), help="least score, 0 to 1; or EVALROUTER_MIN_SCORE")
    parser.add_argument("--max-drop", default=env("EVALROUTER_MAX_DROP"), help="largest drop, 0 to 1; or EVALROUTER_MAX_DROP")
    parser.add_argument("--min-coverage", default=env("EVALROUTER_MIN_COVERAGE"), help="least coverage, 0 to 1; or EVALROUTER_MIN_COVERAGE")
    parser.add_argument("--base-url", default=env("EVALROUTER_BASE_URL"), help="the deployment's address; or EVALROUTER_BASE_URL")
    parser.add_argument("--name", default=env("EVALROUTER_NAME", ""), help="what the comparison is called; or EVALROUTER_NAME")
    parser.add_argument("--wait", type=float, default=0, metavar="SECONDS", help="how long to wait for runs that have not ended")
    parser.add_argument("--timeout", type=float, default=120, metavar="SECONDS", help="of one request (default 120)")
    parser.add_argument("--tries", type=int, default=4, metavar="N", help="how often to ask where no answer comes (default 4)")
    parser.add_argument("--json", metavar="FILE", help="write the whole comparison there too")
    wanted = parser.parse_args(arguments)
    wanted.candidates = wanted.candidates or env("EVALROUTER_CANDIDATE", "").split()
    wanted.key = env("EVALROUTER_API_KEY", "").strip()
    if not wanted.baseline or not wanted.candidates:
        raise Stop(REFUSED, "Name a baseline and at least one candidate.")
    if not wanted.key:
        raise Stop(REFUSED, "Set EVALROUTER_API_KEY to a key with the scope eval:write.")
    wanted.base_url = base_of(wanted.base_url)
    wanted.policy = {name: threshold(name, getattr(wanted, name)) for name in CHECKS if getattr(wanted, name) not in (None, "")}
    if not wanted.policy:
        raise Stop(REFUSED, "Ask for a check: --min-score, --max-drop or --min-coverage.")
    wanted.baseline = reference(wanted.baseline)
    wanted.candidates = [reference(text) for text in wanted.candidates]
    return wanted


def base_of(text):
    parts = urllib.parse.urlsplit(text or "")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Stop(REFUSED, "Set --base-url or EVALROUTER_BASE_URL to the address of the deployment, such as https://eval.example.org.")
    if parts.scheme == "http" and parts.hostname not in LOCAL:
        raise Stop(REFUSED, "The address must begin with https://, so that the key is not sent in the clear.")
    return text.rstrip("/")


def threshold(name, text):
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise Stop(REFUSED, f"--{name.replace('_', '-')} is a share from 0 to 1, such as 0.02 for two points: not {text!r}.")
    return value


def reference(text):
    """RUN_ID[:VERSION[:MODEL[:BENCHMARK]]] as the API takes it."""
    parts = text.strip().split(":", 3)
    try:
        run_id = str(uuid.UUID(parts[0]))
        numbers = [int(part) for part in parts[1:3]]
    except ValueError:
        raise Stop(REFUSED, f"Not a result: {text!r}. Write RUN_ID, RUN_ID:VERSION or RUN_ID:VERSION:MODEL.") from None
    found = {"run_id": run_id, **dict(zip(("version", "subject_index"), numbers, strict=False))}
    if len(parts) == 4:
        found["profile_id"] = parts[3]
    return found


# Asking


def compare(wanted):
    """The comparison as the deployment answers it; waits for runs that have not ended, if that was asked for. Raises Stop."""
    body = {"baseline": wanted.baseline, "candidates": wanted.candidates, "policy": wanted.policy}
    if wanted.name:
        body["name"] = wanted.name[:160]
    key, until = f"gate-{uuid.uuid4()}", time.monotonic() + wanted.wait
    while True:
        status, answer = send(wanted, body, key)
        if status == 201:
            return answer
        error = answer.get("error") or {}
        if error.get("code") == "result_not_ready" and time.monotonic() < until:
            time.sleep(min(ASK_AGAIN, max(0.0, until - time.monotonic())))
            continue
        raise Stop(REFUSED, refusal(status, error))


def send(wanted, body, key):
    """Status and document. Sent again where no answer came: under one key no second comparison is made. Raises Stop."""
    request = urllib.request.Request(  # noqa: S310  (base_of lets only http and https pass)
        f"{wanted.base_url}/v1/comparisons",
        data=json.dumps(body).encode(),
        method="POST",
        headers={"Authorization": f"Bearer {wanted.key}", "Content-Type": "application/json", "Idempotency-Key": key},
    )
    opener = urllib.request.build_opener(NoRedirect)
    words = ""
    for attempt in range(max(1, wanted.tries)):
        if attempt:
            time.sleep(PAUSE * 2 ** (attempt - 1))
        try:
            with opener.open(request, timeout=wanted.timeout) as response:
                return response.status, json.loads(response.read())
        except urllib.error.HTTPError as error:
            if error.code != 429 and error.code < 500:
                return error.code, document_of(error)
            words = f"it answered {error.code}"
        except (OSError, ValueError) as error:
            words = str(error)
    raise Stop(UNREACHED, f"No answer from {wanted.base_url} after {max(1, wanted.tries)} tries: {words}.")


def document_of(error):
    try:
        found = json.loads(error.read())
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def refusal(status, error):
    words = f"Refused ({status}{', ' + error['code'] if error.get('code') else ''}): {error.get('message') or 'no reason was given.'}"
    details = error.get("details")
    return f"{words} {json.dumps(details, ensure_ascii=False)}" if details else words


# Telling


def told(comparison, is_markdown=False):
    """Decision, a row for each result, and the reasons."""
    against = {row["member"]: row for row in comparison["against_baseline"]}
    rows = [("result", "version", "score", "difference", "checks")]
    for member in comparison["members"]:
        place = member["index"]
        checks = [
            f"{CHECKS.get(check['check'], check['check'])}: {OUTCOMES.get(check['outcome'], check['outcome'])}"
            for check in comparison["checks"]
            if check["member"] == place
        ]
        if place == comparison["baseline"]:
            difference, checks = "baseline", []
        else:
            difference = points(against.get(place, {}))
        named = f"{member['run_id'][:8]} v{member['version']}"
        rows.append((plain(member["label"]), named, score(member["headline"] or {}), difference, ", ".join(checks) or "-"))
    lines = [f"**{comparison['decision']}**" if is_markdown else comparison["decision"].upper(), ""]
    lines += markdown(rows) if is_markdown else columns(rows)
    lines += ["", *(f"- {plain(reason['message'])}" for reason in comparison["reasons"])]
    return "\n".join([*lines, "", comparison["report_url"]])


def plain(text):
    """One line without control characters: names come from people, and a log obeys some lines."""
    return re.sub(r"\s+|[\x00-\x1f\x7f-\x9f]", " ", text)


def columns(rows):
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def markdown(rows):
    cells = [[re.sub(r"([\\|`*_<>\[\]])", r"\\\1", cell) for cell in row] for row in rows]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    return [lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]]


def score(headline):
    if headline.get("value") is None:
        return "-"
    interval = headline.get("interval")
    return f"{100 * headline['value']:.1f}%" + (f" ({100 * interval['low']:.1f} to {100 * interval['high']:.1f})" if interval else "")


def points(row):
    if row.get("difference") is None:
        return "not compared"
    interval = row.get("interval")
    spread = f" ({100 * interval['low']:+.1f} to {100 * interval['high']:+.1f})" if interval else ""
    return f"{100 * row['difference']:+.1f} points{spread}"


if __name__ == "__main__":
    sys.exit(main())
