"""The stand-in itself: what other tests rely on."""

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SHARED
from tests.gateway.asking import ask, request, target_at
from tests.standins.chat import ChatServer, Faults, chat_process

GSM8K = SHARED / "data" / "gsm8k"


def get(url: str, path: str, *, method: str = "GET") -> Any:
    with urllib.request.urlopen(urllib.request.Request(url.removesuffix("/v1") + path, method=method)) as answer:
        return json.load(answer)


def test_answers_are_found_by_the_question_within_the_last_user_message() -> None:
    with ChatServer({"2+2": "4", "2+2+2": "6"}) as server:
        assert [ask(target_at(server.url), request(text)).text for text in ("2+2", "Q: 2+2+2?", "3")] == ["4", "6", ""]


def test_faults_are_the_same_whoever_asks_and_change_with_the_try() -> None:
    faults = Faults(0.3, 0.2, 0.1, seed=5)
    picked = [faults.pick("m", f"q{n}", number) for n in range(500) for number in (1, 2)]

    assert picked == [faults.pick("m", f"q{n}", number) for n in range(500) for number in (1, 2)]
    shares = [sum(1 for fault in picked if fault and (fault.status == status and not fault.drop)) for status in (429, 500)]
    assert 240 <= shares[0] <= 360
    assert 150 <= shares[1] <= 250
    assert {bool(faults.pick("m", "q0", number)) for number in range(1, 30)} == {True, False}


def test_counters_are_told_over_http_and_reset() -> None:
    with ChatServer("two words", latency=0.01) as server:
        for _ in range(2):
            ask(target_at(server.url), request("one two three"))
        told = get(server.url, "/__stats")
        get(server.url, "/__reset", method="POST")

        assert (told["requests"], told["answered"], told["answered_twice"], told["by_model"]) == (2, 2, 1, {"m": 2})
        assert (told["input_tokens"], told["output_tokens"], told["in_flight"], told["by_status"]) == (6, 4, 0, {"200": 2})
        assert get(server.url, "/__stats")["requests"] == 0


def test_process_serves_recorded_outputs_by_model() -> None:
    if not GSM8K.exists():
        pytest.skip("the recorded model outputs lie beside the repository only where it is developed")
    row = json.loads((GSM8K / "example_model_solutions.jsonl").read_text().splitlines()[7])
    with chat_process("--gsm8k", str(GSM8K / "example_model_solutions.jsonl"), "--rate-429", "0.0") as url:
        models = [model["id"] for model in get(url, "/v1/models")["data"]]
        answers = []
        for model in models:
            body = {"model": model, "messages": [{"role": "user", "content": f"Question: {row['question']}\nAnswer:"}]}
            sent = urllib.request.Request(f"{url}/chat/completions", json.dumps(body).encode())
            with urllib.request.urlopen(sent) as answer:
                answers.append(json.load(answer)["choices"][0]["message"]["content"])

    assert models == ["6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification"]
    assert answers == [row[model]["solution"] for model in models]


def test_process_reads_answers_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text('{"question": "2+2", "answer": "4"}\n{"question": "3+3", "answer": "6"}\n')
    with chat_process("--answers", str(file)) as url:
        assert ask(target_at(url), request("3+3")).text == "6"
