"""What each reader makes of an old evaluation: rows, answers, old verdicts, and graders mapped or named as having no counterpart."""

import io
import json
import zipfile
from typing import Any

import pytest

from common.errors import Refused
from imports.recorded import collecting, inspect_log, yaml_text
from imports.recorded.files import OldFile
from imports.recorded.understanding import recognised, understand
from tests.imports.recorded import FIXTURES

SUMS = "samples_toy_sums_2025-01-01T00-00-00.000000.jsonl"
CHOICE = "samples_toy_choice_2025-01-01T00-00-00.000000.jsonl"
RESULTS = "results_2025-01-01T00-00-00.000000.json"


def old(name: str, content: bytes | None = None) -> OldFile:
    content = (FIXTURES / name).read_bytes() if content is None else content
    return OldFile(name, io.BytesIO(content), len(content))


def found(*files: OldFile, format: str = "", **options: Any) -> tuple[dict[str, Any], list[dict[str, Any]], list[list[Any]]]:
    with understand(files, format=format, options=options) as understood:
        return understood.document(), list(understood.found.rows()), list(understood.found.answers())


def mapped(document: dict[str, Any]) -> dict[str, Any]:
    return {each["name"]: each["mapped"] and each["mapped"]["task"] for each in document["graders"]}


@pytest.mark.parametrize(
    ("names", "format"),
    [
        (["openai_eval.json", "openai_items.jsonl"], "openai"),
        (["openai_items.jsonl"], "openai"),
        (["oaieval.jsonl"], "oaieval"),
        (["promptfoo.json"], "promptfoo"),
        (["promptfooconfig.yaml"], "promptfoo"),
        ([SUMS], "lm-eval"),
        ([RESULTS, CHOICE], "lm-eval"),
        (["inspect.json"], "inspect"),
        (["predictions.csv"], "predictions"),
    ],
)
def test_a_format_is_recognised_by_its_content(names: list[str], format: str) -> None:
    assert recognised([old(name) for name in names]) == format


def test_openai_export_gives_rows_with_the_prompts_that_were_sent() -> None:
    document, rows, answers = found(old("openai_items.jsonl"), old("openai_eval.json"))
    assert (document["name"], document["rows"]) == ("Rivers", 4)
    assert document["models"] == [{"name": "example/a", "answers": 3}, {"name": "b on rivers", "answers": 4}]
    assert rows[1] == {
        "id": "1",
        "system": "Answer with one word.",
        "prompt": "Which river flows past the Mill?",
        "choices": None,
        "answer": "Tarn",
        "group": "",
    }
    assert rows[2]["answer"] == "{{ item.river }}"  # a value that looks like a template is a text
    assert answers[:2] == [["example/a", "0", "Ebbing", "", "stop", True, ""], ["example/a", "1", "tarn", "", "stop", False, ""]]
    assert mapped(document) == {"string_check eq": "exact_match", "text_similarity": None}
    assert [(each["reason"], each["count"]) for each in document["left_out"]] == [("no_answer", 1)]


def test_openai_items_without_their_eval_say_what_is_missing() -> None:
    document, _, _ = found(old("openai_items.jsonl"))
    assert mapped(document) == {"string_check": None}
    assert document["notes"][0].startswith("The files hold no eval definition")


@pytest.mark.parametrize(
    ("change", "task"),
    [({}, "exact_match"), ({"operation": "ne"}, None), ({"operation": "ilike"}, None), ({"input": "{{ sample.output_json.x }}"}, None)],
)
def test_only_a_string_check_of_the_whole_answer_is_mapped(change: dict[str, str], task: str | None) -> None:
    definition = json.loads((FIXTURES / "openai_eval.json").read_text())
    definition["testing_criteria"] = [definition["testing_criteria"][0] | change]
    document, _, _ = found(old("openai_items.jsonl"), old("eval.json", json.dumps(definition).encode()))
    assert list(mapped(document).values()) == [task]


def test_oaieval_log() -> None:
    document, rows, answers = found(old("oaieval.jsonl"))
    assert (document["name"], document["models"]) == ("colours.test.v0", [{"name": "example/old", "answers": 3}])
    assert [row["answer"] for row in rows] == ["yellow", ["purple", "violet"], "black"]
    assert [(answer[2], answer[5], answer[6]) for answer in answers] == [
        ("yellow", True, "yellow"),
        ("violet", True, "violet"),
        ("grey", False, ""),
    ]
    assert mapped(document) == {"match": None}


def test_promptfoo_results_name_every_assertion_that_has_no_counterpart() -> None:
    document, rows, answers = found(old("promptfoo.json"))
    assert [row["answer"] for row in rows] == ["mammal", "reptile", "no animal"]
    assert rows[2]["prompt"] == "What kind of animal is the {{7*7}}? One word."
    assert [each["name"] for each in document["models"]] == ["openai:example-1", "A labelled model"]
    assert [answer[5] for answer in answers] == [True, False, True, False, True, False]
    assert mapped(document) == {"equals": "exact_match", "javascript": None, "contains": None, "llm-rubric": None}
    assert [each["examples"] for each in document["graders"]] == [["1", "2"], ["2"], ["3"], ["4"]]
    assert [(each["reason"], each["count"]) for each in document["left_out"]] == [("no_reference", 2)]


def test_promptfoo_configuration_gives_rows_and_its_values_are_never_templates() -> None:
    document, rows, answers = found(old("promptfooconfig.yaml"))
    assert [row["prompt"] for row in rows] == [
        'What kind of animal is the otter? {{ "now" | date }}',
        'What kind of animal is the {{kind}}? {{ "now" | date }}',
    ]
    assert (answers, document["models"]) == ([], [])


def test_lm_eval_log_with_its_results_maps_the_filter_of_its_verdicts() -> None:
    document, rows, answers = found(old(SUMS), old(RESULTS))
    assert (document["name"], document["models"]) == ("toy_sums", [{"name": "example/tiny", "answers": 3}])
    assert [row["answer"] for row in rows] == ["5", "1500", "2"]
    assert [(answer[5], answer[6]) for answer in answers] == [(True, "5"), (True, "1500"), (False, "[invalid]")]
    options = document["graders"][0]["mapped"]["grader_options"]
    assert (options["pattern"], options["anchored"], options["normalize"]["casefold"]) == (
        r"The answer is (\-?[0-9\.\,]*[0-9])",
        False,
        True,
    )
    other, _, others = found(old(SUMS), old(RESULTS), filter="flexible-extract")
    assert (mapped(other), [answer[5] for answer in others]) == ({"exact_match, filter flexible-extract": "numeric"}, [True, True, True])


def test_lm_eval_log_without_its_results_does_not_guess_a_filter() -> None:
    document, rows, _ = found(old(SUMS))
    assert mapped(document) == {"exact_match, filter strict-match": None}
    assert rows[0]["answer"] == "He adds 2 and 3.\n#### 5"


def test_lm_eval_choices_by_likelihood_are_letters() -> None:
    document, rows, answers = found(old(CHOICE))
    assert [(row["choices"], row["answer"]) for row in rows] == [(["circle", "square", "line"], "B"), (["circle", "square", "line"], "A")]
    assert [(answer[2], answer[5]) for answer in answers] == [("B", True), ("B", False)]
    assert mapped(document) == {"acc of likelihoods": "multiple_choice"}


def as_eval(document: dict[str, Any], **more: bytes) -> bytes:
    """The Inspect log as an archive, as `.eval` files are."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({key: value for key, value in document.items() if key != "samples"}))
        for sample in document["samples"]:
            archive.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
        for name, content in more.items():
            archive.writestr(f"samples/{name}.json", content)
    return written.getvalue()


def test_inspect_log_is_the_same_as_json_and_as_archive() -> None:
    log = json.loads((FIXTURES / "inspect.json").read_text())
    document, rows, answers = found(old("inspect.json"))
    assert found(old("log.eval", as_eval(log))) == (document, rows, answers)
    assert (document["name"], document["rows"], mapped(document)) == ("numbers", 3, {"choice": "multiple_choice"})
    assert answers == [
        ["example/inspected", "q0", "ANSWER: A", "", "stop", True, "A"],
        ["example/inspected", "q1", "ANSWER: C", "Hm.", "stop", False, ""],
        ["example/inspected", "q2", "I do not", "", "length", False, "t"],
    ]
    assert {each["reason"]: each["count"] for each in document["left_out"]} == {"later_epoch": 1, "not_text": 1}


@pytest.mark.parametrize(
    ("scorer", "options", "task"),
    [
        ("match", {}, None),
        ("match", {"location": "exact"}, "exact_match"),
        ("match", {"numeric": True}, "numeric"),
        ("includes", {}, None),
        ("pattern", {"pattern": r"ANSWER: (\w+)"}, "regex_match"),
        ("pattern", {"pattern": r"(?=a)b"}, None),
        ("inspect_ai/answer", {}, "exact_match"),
        ("model_graded_qa", {"model": "x"}, None),
        ("my_own", {}, None),
    ],
)
def test_inspect_scorers(scorer: str, options: dict[str, Any], task: str | None) -> None:
    log = json.loads((FIXTURES / "inspect.json").read_text())
    log["eval"]["scorers"] = [{"name": scorer, "options": options}]
    log["results"] = None
    log["samples"] = [{**log["samples"][0], "choices": None, "target": ["one"], "scores": {scorer: {"value": 0.5}}}]
    document, _, answers = found(old("log.json", json.dumps(log).encode()))
    assert (mapped(document), answers[0][5]) == ({scorer: task}, None)


def test_predictions_take_columns_by_name_and_verdicts_in_many_words() -> None:
    _, _, answers = found(old("predictions.csv"))
    assert [(answer[0], answer[1], answer[2], answer[5]) for answer in answers] == [
        ("first", "t0", "It is 0.", True),
        ("first", "t1", "3", False),
        ("first", "t2", "no idea", False),
        ("second", "t0", "0", None),
        ("second", "zz", "1", True),
    ]


def test_predictions_of_a_wide_file_are_named_column_by_column() -> None:
    lines = b'{"question": "a", "m1": {"said": "x", "ok": true}}\n{"question": "b", "m1": {"said": 7, "ok": false}}\n'
    _, _, answers = found(old("wide.jsonl", lines), model="m1", columns={"answer": "m1.said", "correct": "m1.ok"})
    assert answers == [["m1", "1", "x", "", "", True, ""], ["m1", "2", "7", "", "", False, ""]]


def refusal(*files: OldFile, **options: Any) -> Refused:
    with pytest.raises(Refused) as caught:
        found(*files, **options)
    return caught.value


def test_predictions_without_the_column_name_those_that_are_there() -> None:
    refused = refusal(old("p.csv", b"a,b\n1,2\n"))
    assert (refused.code, refused.details) == ("recorded_missing_column", {"role": "answer", "columns": ["a", "b"]})


@pytest.mark.parametrize(
    ("name", "content", "format"),
    [
        ("x.json", b'{"eval": 1, "version": 2', "inspect"),
        ("x.eval", b"PK\x03\x04 not really an archive", ""),
        ("x.yaml", b"!!python/object/apply:os.system ['true']", ""),
        ("x.yaml", b"a: [1, 2", ""),
        ("x.jsonl", b'{"doc": {}, "filtered_resps": []}\nnot json\n', ""),
    ],
)
def test_broken_files_are_refused_with_the_file_named(name: str, content: bytes, format: str) -> None:
    refused = refusal(old(name, content), format=format)

    assert (refused.code, refused.details) == ("recorded_unreadable_file", {"file": name})


def test_an_archive_that_unpacks_to_too_much_is_refused_while_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    log = json.loads((FIXTURES / "inspect.json").read_text())
    bomb = as_eval(log, bomb=b" " * (inspect_log.MAX_MEMBER_BYTES + 1))
    assert len(bomb) < 50_000
    assert refusal(old("bomb.eval", bomb)).code == "recorded_unreadable_file"
    monkeypatch.setattr(inspect_log, "MAX_UNPACKED_BYTES", 1_000)
    assert refusal(old("many.eval", as_eval(log))).code == "recorded_unreadable_file"


def test_yaml_aliases_that_unfold_to_a_flood_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    refused = refusal(old("laughs.yaml", "\n".join(lines).encode()))
    assert refused.message.endswith(f"it has more than {yaml_text.MAX_NODES:,} values, aliases written out.")


def test_limits_hold_while_a_file_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collecting, "MAX_ROWS", 2)
    assert (refusal(old("promptfoo.json")).code, refusal(old("predictions.csv")).code) == ("upload_row_limit", "upload_row_limit")
    monkeypatch.setattr(collecting, "MAX_ROWS", 100)
    monkeypatch.setattr(collecting, "MAX_MODELS", 1)
    assert refusal(old("predictions.csv")).code == "recorded_too_many_models"
    monkeypatch.setattr(collecting, "MAX_MODELS", 9)
    monkeypatch.setattr(collecting, "MAX_ANSWER_CHARS", 3)
    document, _, answers = found(old("predictions.csv"))
    assert (len(answers), [(each["reason"], each["count"]) for each in document["left_out"]]) == (3, [("answer_too_long", 2)])


def test_a_nul_is_shown_as_an_unknown_character() -> None:
    spec = b'{"spec": {"completion_fns": ["m"]}}\n'
    sampling = b'{"sample_id": "1", "type": "sampling", "data": {"prompt": "q", "sampled": ["\\u0000said"]}}\n'
    match = b'{"sample_id": "1", "type": "match", "data": {"correct": true, "expected": "x"}}\n'
    _, _, answers = found(old("log.jsonl", spec + sampling + match))
    assert answers[0][2] == "\N{REPLACEMENT CHARACTER}said"


def test_yaml_texts_stay_as_they_are_written() -> None:
    lines = "prompts: ['{{q}}']\ntests:\n" + "".join(
        f"  - vars: {{q: {n}}}\n    assert: [{{type: equals, value: {value}}}]\n"
        for n, value in enumerate(["yes", "2024-01-31", "1.10", "42", "0x1f"])
    )
    _, rows, _ = found(old("config.yaml", lines.encode()))
    assert [row["answer"] for row in rows] == ["yes", "2024-01-31", "1.10", "42", "0x1f"]


def test_runs_and_logs_of_one_model_are_told_apart() -> None:
    lines = [json.loads(line) for line in (FIXTURES / "openai_items.jsonl").read_text().splitlines()]
    for line in lines[:2]:
        line |= {"name": "the same"}
    items = b"\n".join(json.dumps(line).encode() for line in lines)
    document, _, _ = found(old("items.jsonl", items), old("openai_eval.json"))
    assert [each["name"] for each in document["models"]] == ["the same (valrun_a)", "the same (valrun_b)"]
    document, _, answers = found(old("inspect.json"), old("inspect.json"))
    assert document["models"] == [{"name": "example/inspected", "answers": 3}, {"name": "example/inspected (2)", "answers": 3}]
    assert len(answers) == 6


def test_an_error_whose_texts_are_empty_is_none() -> None:
    """The service writes `{"code": "", "message": ""}` where nothing went wrong."""
    lines = [json.loads(line) for line in (FIXTURES / "openai_items.jsonl").read_text().splitlines()]
    expected = found(old("openai_items.jsonl"), old("openai_eval.json"))[2]
    for line in lines:
        if "sample" in line and not line["sample"].get("error"):
            line["sample"]["error"] = {"code": "", "message": ""}
    items = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    assert found(old("openai_items.jsonl", items), old("openai_eval.json"))[2] == expected
