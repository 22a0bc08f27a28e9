"""An OpenAI-compatible chat endpoint over a real socket, with known answers, faults on demand and counters.

In a test:

    with ChatServer({"What is 2+2?": "4"}) as server:
        ...  # server.url is "http://127.0.0.1:<port>/v1"

As a process of its own, which prints `listening PORT`:

    python -m tests.standins.chat --port 0 --answers FILE --latency-ms 50 --rate-429 0.05 --rate-500 0.02 --rate-drop 0.01 --seed 7
    python -m tests.standins.chat --port 0 --gsm8k ../shared/data/gsm8k/example_model_solutions.jsonl

Faults are a pure function of (seed, model, last user message, how often this was asked): the same call fails at the same try whoever asks.
`GET /__stats` tells the counters, `POST /__reset` puts them back to zero. Usage counts words, so that a meter can be checked by hand.
"""

import argparse
import asyncio
import hashlib
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from tests.standins.http import Connection, Reply, Request, Threaded

GSM8K_MODELS = ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification")

type Message = dict[str, Any]
type Answers = str | Mapping[str, str] | Callable[[list[Message]], str]
"""A fixed text, texts by the last user message (or a question within it), or a function of the messages."""


@dataclass(frozen=True, slots=True)
class Faults:
    """Shares of the calls, from 0 to 1, that are answered 429 at once, 500 after the latency, or by a dropped connection after it."""

    rate_429: float = 0.0
    rate_500: float = 0.0
    rate_drop: float = 0.0
    seed: int = 0
    retry_after: str = "1"

    def pick(self, model: str, text: str, number: int) -> Reply | None:
        """The fault of this call, or None."""
        digest = hashlib.sha256(f"{self.seed}\0{model}\0{text}\0{number}".encode()).digest()
        share = int.from_bytes(digest[:8]) / 2**64
        if share < self.rate_429:
            return Reply(429, error_body("Rate limit reached.", kind="rate_limit_exceeded"), {"Retry-After": self.retry_after}, hold=False)
        if share < self.rate_429 + self.rate_500:
            return Reply(500, error_body("Internal error.", kind="server_error"))
        if share < self.rate_429 + self.rate_500 + self.rate_drop:
            return Reply(drop=True)
        return None


@dataclass(slots=True)
class Stats:
    """What happened since the start or the last reset."""

    requests: int = 0
    answered: int = 0
    answered_twice: int = 0
    """Answers to a question of a model that was answered before."""
    in_flight: int = 0
    in_flight_max: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    by_status: Counter[str] = field(default_factory=Counter)
    """HTTP status, or "drop"."""
    by_model: Counter[str] = field(default_factory=Counter)
    """Answers of each model."""

    def as_dict(self) -> dict[str, Any]:
        return {name: dict(value) if isinstance(value := getattr(self, name), Counter) else value for name in self.__slots__}


@dataclass(slots=True)
class Asked:
    """One chat request as it came."""

    body: dict[str, Any]
    headers: dict[str, str]
    number: int
    """How often this model was asked this, from 1."""

    @property
    def model(self) -> str:
        return str(self.body.get("model", ""))

    @property
    def messages(self) -> list[Message]:
        return self.body["messages"]

    @property
    def question(self) -> str:
        return last_user_message(self.messages)


def error_body(message: str, *, kind: str = "server_error", code: str | int | None = None, param: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "code": code, "param": param}}


def last_user_message(messages: Sequence[Message]) -> str:
    return next((str(message.get("content", "")) for message in reversed(messages) if message.get("role") == "user"), "")


def completion(text: str | None, *, model: str = "stand-in", finish_reason: str = "stop", **message: Any) -> dict[str, Any]:
    """A chat completion without usage."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": finish_reason}
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": model, "choices": [choice]}


class ChatServer(Threaded):
    """The endpoint, in a thread of its own while the context lasts.

    `models` gives models answers of their own, and makes every model that it does not name unknown (404). `reply` sees each request
    first: what it returns is sent in place of an answer, None answers as usual. `api_key` refuses every other key. `latency` is in seconds.
    """

    def __init__(
        self,
        answers: Answers = "42",
        *,
        models: Mapping[str, Answers] | None = None,
        latency: float = 0.0,
        faults: Faults | None = None,
        usage: bool = True,
        api_key: str | None = None,
        reply: Callable[[Asked], Reply | None] | None = None,
        port: int = 0,
        keep_requests: bool = True,
    ) -> None:
        self.answers = answers
        self.models = models
        self.latency = latency
        self.faults = faults or Faults()
        self.usage = usage
        self.api_key = api_key
        self.reply = reply
        self.port = port
        self.keep_requests = keep_requests
        self.stats = Stats()
        self.requests: list[Asked] = []
        self.connections: set[Connection] = set()
        self._asked: Counter[tuple[str, str]] = Counter()
        self._answered: set[tuple[str, str]] = set()
        self._keys: dict[tuple[int, str], str] = {}
        """The known question within each question asked."""

    @property
    def url(self) -> str:
        """The base that endpoints are given."""
        return f"http://127.0.0.1:{self.port}/v1"

    async def serve(self, listening: Callable[[], None]) -> None:
        """Serve until stopped; `listening` is called when the port is known."""
        [server] = await self._listen([lambda: Connection(self._answer, self.connections)], self.port, None)
        self.port = server.sockets[0].getsockname()[1]
        listening()
        await self._until_stopped([server], self.connections)

    def reset(self) -> None:
        """Forget everything counted."""
        self.stats = Stats()
        self.requests.clear()
        self._asked.clear()
        self._answered.clear()

    async def _answer(self, request: Request) -> Reply:
        path = request.path.partition("?")[0]
        if request.method == "POST" and path.endswith("/chat/completions"):
            return await self._answer_chat(request)
        if path == "/__stats":
            return Reply(body=self.stats.as_dict())
        if path == "/__reset" and request.method == "POST":
            self.reset()
            return Reply(body={})
        if path.endswith("/models"):
            return Reply(body={"object": "list", "data": [{"id": name, "object": "model"} for name in self.models or ("stand-in",)]})
        return Reply(body={"ok": True}) if path == "/health" else Reply(404, error_body("Not found."))

    async def _answer_chat(self, request: Request) -> Reply:
        stats = self.stats
        stats.requests += 1
        stats.in_flight += 1
        stats.in_flight_max = max(stats.in_flight_max, stats.in_flight)
        try:
            asked = self._read(request)
            reply = self._chat_reply(asked)
            wait = (self.latency if reply.hold else 0.0) + reply.delay
            if wait:
                await asyncio.sleep(wait)
            if asked is not None and reply.status == 200 and not reply.drop:
                self._count_answer(asked, reply)
            stats.by_status["drop" if reply.drop else str(reply.status)] += 1
            return reply
        finally:
            stats.in_flight -= 1

    def _read(self, request: Request) -> Asked | None:
        try:
            body = orjson.loads(request.body)
            key = str(body["model"]), last_user_message(body["messages"])
        except (ValueError, KeyError, TypeError, AttributeError):
            return None
        self._asked[key] += 1
        asked = Asked(body, request.headers, self._asked[key])
        if self.keep_requests:
            self.requests.append(asked)
        return asked

    def _chat_reply(self, asked: Asked | None) -> Reply:
        if asked is None:
            return Reply(400, error_body("The body is not a chat request.", kind="invalid_request_error"), hold=False)
        model, question = asked.model, asked.question
        if self.api_key is not None and asked.headers.get("authorization") != f"Bearer {self.api_key}":
            return Reply(401, error_body("Incorrect API key provided.", kind="invalid_request_error", code="invalid_api_key"), hold=False)
        if self.reply is not None and (reply := self.reply(asked)) is not None:
            return reply
        if self.models is not None and model not in self.models:
            message = f"The model `{model}` does not exist."
            return Reply(404, error_body(message, kind="invalid_request_error", code="model_not_found"), hold=False)
        fault = self.faults.pick(model, question, asked.number)
        if fault is not None:
            return fault
        text = self._find(self.models[model] if self.models is not None else self.answers, asked.messages, question)
        document = completion(text, model=model)
        if self.usage:
            words_in = sum(len(str(message.get("content", "")).split()) for message in asked.messages)
            words_out = len(text.split())
            document["usage"] = {"prompt_tokens": words_in, "completion_tokens": words_out, "total_tokens": words_in + words_out}
        return Reply(body=document)

    def _count_answer(self, asked: Asked, reply: Reply) -> None:
        key = asked.model, asked.question
        self.stats.answered += 1
        self.stats.by_model[asked.model] += 1
        self.stats.answered_twice += key in self._answered
        self._answered.add(key)
        usage = reply.body.get("usage") if isinstance(reply.body, dict) and self.reply is None else None
        if usage:
            self.stats.input_tokens += usage["prompt_tokens"]
            self.stats.output_tokens += usage["completion_tokens"]

    def _find(self, answers: Answers, messages: list[Message], question: str) -> str:
        if isinstance(answers, str):
            return answers
        if not isinstance(answers, Mapping):
            return answers(messages)
        asked = id(answers), question
        if asked not in self._keys:
            lines = [part for line in question.splitlines() for part in (line.strip(), line.partition(": ")[2].strip())]
            within = [part for part in (question, *lines) if part in answers] or [known for known in answers if known in question]
            self._keys[asked] = max(within, key=len, default="")
        return answers.get(self._keys[asked], "")


def gsm8k_models(path: Path) -> dict[str, dict[str, str]]:
    """The recorded outputs of the four models, by model and question."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return {model: {row["question"]: row[model]["solution"] for row in rows} for model in GSM8K_MODELS}


def read_answers(path: Path) -> dict[str, str]:
    """Answers by question: a JSON object, or lines of {"question", "answer"}."""
    text = path.read_text()
    try:
        return dict(json.loads(text))
    except ValueError:
        return {row["question"]: row["answer"] for row in map(json.loads, text.splitlines())}


@contextmanager
def chat_process(*arguments: str) -> Iterator[str]:
    """The base URL of an endpoint in a process of its own, which takes no share of this one's interpreter."""
    command = [sys.executable, "-m", "tests.standins.chat", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline().split()[1])}/v1"
        finally:
            process.terminate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--answers", type=Path, help="a JSON object of answers by question, or JSON lines of question and answer")
    parser.add_argument("--gsm8k", type=Path, help=f"recorded outputs, served as the models {', '.join(GSM8K_MODELS)}")
    parser.add_argument("--fallback", default="42", help="the answer to everything where no file is given")
    parser.add_argument("--latency-ms", type=float, default=0.0)
    parser.add_argument("--rate-429", type=float, default=0.0)
    parser.add_argument("--rate-500", type=float, default=0.0)
    parser.add_argument("--rate-drop", type=float, default=0.0)
    parser.add_argument("--retry-after", default="1")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-usage", action="store_true")
    parser.add_argument("--api-key")
    options = parser.parse_args()
    server = ChatServer(
        read_answers(options.answers) if options.answers else options.fallback,
        models=gsm8k_models(options.gsm8k) if options.gsm8k else None,
        latency=options.latency_ms / 1000,
        faults=Faults(options.rate_429, options.rate_500, options.rate_drop, options.seed, options.retry_after),
        usage=not options.no_usage,
        api_key=options.api_key,
        port=options.port,
        keep_requests=False,
    )
    try:
        import uvloop

        run = uvloop.run
    except ImportError:
        run = asyncio.run
    with suppress(KeyboardInterrupt):
        run(server.serve(lambda: print(f"listening {server.port}", flush=True)))


if __name__ == "__main__":
    main()
