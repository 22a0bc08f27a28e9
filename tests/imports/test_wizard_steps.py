"""Each step of the import wizard: what it shows, what it takes, and what it says to what it does not take."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from imports.models import ImportDraft, Upload
from tests.imports.files import json_lines
from tests.imports.wizard import CAPITALS, START, begin, path, problems, send, state_of
from tests.paging import HTMX
from workspaces.models import User, Workspace

SignIn = Callable[[User], Client]
QUIZ = json_lines(*({"q": f"Question {n}?", "options": ["one", "two", "three"], "key": n % 3} for n in range(12)))
LEAKING = json_lines(
    *(
        {"q": f"What is {n}?", "why": f"A long reason that explains number {n}", "a": f"A long reason that explains number {n}"}
        for n in range(4)
    )
)


def upload(client: Client, content: bytes = CAPITALS, name: str = "capitals.csv", **data: Any) -> Any:
    return client.post(f"{START}/upload", {"file": SimpleUploadedFile(name, content), **data})


# ── Source ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_source_step_shows_the_limits_and_what_is_left(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    begin(member, workspace)
    text = sign_in(member).get(START).content.decode()
    for words in ("up to 64 MiB", "up to 100,000 rows", "9 of 10 uploads", "1 of 1,000 used", "Drop it here", "capitals.csv"):
        assert words in text, words


def test_uploaded_file_opens_its_preview(member: User, sign_in: SignIn) -> None:
    response = upload(sign_in(member))
    draft = ImportDraft.objects.get()
    assert (response.status_code, response["Location"]) == (302, path(draft, "preview"))
    assert (draft.user, draft.source.startswith("workspace://"), draft.state["done"]) == (member, True, ["source"])


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (b"", "empty.csv", "empty"),
        (b"%PDF-1.7 data", "paper.pdf", ".jsonl"),
        (b"\x00\x01\x02", "data.parquet", "Parquet"),
    ],
    ids=["empty", "no-data", "broken"],
)
def test_file_that_is_no_data_is_refused_in_words(content: bytes, name: str, words: str, member: User, sign_in: SignIn) -> None:
    response = upload(sign_in(member), content, name)
    assert (response.status_code, ImportDraft.objects.count()) == (422, 0)
    assert words in response.content.decode()
    assert Upload.objects.filter(status="open").count() == 0


def test_no_file_is_asked_for(member: User, sign_in: SignIn) -> None:
    response = sign_in(member).post(f"{START}/upload")
    assert (response.status_code, "Choose a file first." in response.content.decode()) == (422, True)


def test_earlier_file_begins_another_draft(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    first = begin(member, workspace)
    response = sign_in(member).post(f"{START}/selection", {"source": first.source})
    second = ImportDraft.objects.exclude(pk=first.pk).get()
    assert (response["Location"], second.source) == (path(second, "preview"), first.source)


def test_file_of_another_workspace_is_not_found(
    workspace: Workspace, member: User, stranger: User, other_workspace: Workspace, sign_in: SignIn
) -> None:
    theirs = begin(stranger, other_workspace)
    response = sign_in(member).post(f"{START}/selection", {"source": theirs.source})
    assert (response.status_code, ImportDraft.objects.filter(user=member).count()) == (422, 0)
    assert "Lima" not in response.content.decode()


def test_another_file_for_a_draft_begins_its_columns_anew_and_asks_for_the_rights(
    workspace: Workspace, member: User, sign_in: SignIn
) -> None:
    draft = begin(member, workspace, done=5)
    other = begin(member, workspace, QUIZ, file="quiz.jsonl")
    response = sign_in(member).post(f"{START}/selection", {"source": other.source, "draft": draft.public_id, "revision": draft.revision})
    assert response["Location"] == path(draft, "preview")
    state = state_of(draft)
    assert (state["done"], state["attested"], state["columns"]["choices"]) == (["source"], False, "options")


# ── Preview ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_preview_shows_rows_types_and_how_the_file_was_read(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    draft = begin(member, workspace)
    context = sign_in(member).get(path(draft, "preview")).context
    shown = context["shown"]
    assert [(each.name, each.words) for each in shown.columns] == [
        ("id", "Numbers"),
        ("country", "Text"),
        ("capital", "Text"),
        ("notes", "Text"),
    ]
    assert (shown.encoding, shown.delimiter, shown.header, shown.rows[0].cells) == ("utf-8", ",", True, ["1", "Peru", "Lima", "a"])


def test_reading_can_be_overruled(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    draft = begin(member, workspace)
    client = sign_in(member)
    response = client.post(path(draft, "preview"), {"revision": draft.revision, "delimiter": ";", "header": "no"}, headers=HTMX)
    assert (response.status_code, response.context["shown"].names) == (200, ["column_1"])
    assert "<html" not in response.content.decode()
    assert (state_of(draft)["delimiter"], state_of(draft)["header"]) == (";", False)


def test_reading_that_does_not_fit_is_refused_with_its_line(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    draft = begin(member, workspace)
    response = send(sign_in(member), draft, "preview", encoding="utf-16")
    assert response.status_code == 422
    assert "Choose another encoding" in response.content.decode()
    assert "preview" not in state_of(draft)["done"]


def test_credentials_in_rows_are_hidden_and_warned_of(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    secret = "ghp_" + "a1B2" * 9
    draft = begin(member, workspace, f"question,answer\nUse {secret} now?,no\nAnd now?,yes\n".encode())
    text = sign_in(member).get(path(draft, "preview")).content.decode()
    assert (secret in text, "[redacted]" in text, "shaped like a credential" in text) == (False, True, True)
    assert secret not in json.dumps(state_of(draft))


def test_file_without_a_header_is_seen_to_have_none(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    rows = b"".join(f'"What is {n} plus {n}, if you count with your fingers?",{2 * n}\n'.encode() for n in range(9))
    draft = begin(member, workspace, rows, file="sums.csv")
    context = sign_in(member).get(path(draft, "preview")).context
    assert (context["shown"].names, state_of(draft)["header"]) == (["column_1", "column_2"], False)


# ── Columns ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_suggestions_stand_in_the_form_and_are_marked_as_guesses(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    draft = begin(member, workspace, QUIZ, file="quiz.jsonl", done=2)
    response = sign_in(member).get(path(draft, "mapping"))
    assert state_of(draft)["columns"] == {"q": "q", "choices": "options", "answer": "key"}
    assert response.content.decode().count('<span class="badge">Guess') >= 3


def test_prompt_is_shown_as_it_would_be_sent(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    draft = begin(member, workspace, QUIZ, file="quiz.jsonl", done=2, prompt_template="Q: {q}\n{choices}\nA:")
    context = sign_in(member).get(path(draft, "mapping")).context
    assert context["row"].messages == [{"role": "user", "content": "Q: Question 0?\nA. one\nB. two\nC. three\nA:"}]
    assert (context["row"].answer, context["never_sent"]["read"]) == ("A", [("key", "to grade the row")])


def test_live_form_is_saved_and_answered_with_the_prompt_alone(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    draft = begin(member, workspace, done=2)
    client = sign_in(member)
    data = {"revision": draft.revision, "role": "place", "column": "country", "answer": "capital", "choices_in": "none", "row": "2"}
    headers = {**HTMX, "HX-Target": "beside"}
    response = client.post(path(draft, "mapping"), {**data, "prompt_template": "Capital of {place}?"}, headers=headers)
    text = response.content.decode()
    assert ("<html" in text, 'id="beside"' in text, "Capital of France?" in text) == (False, True, True)
    assert state_of(draft)["prompt_template"] == "Capital of {place}?"
    assert "columns.question" not in state_of(draft)["guesses"]


@pytest.mark.parametrize(
    ("changed", "field", "words"),
    [
        ({"answer": ""}, "answer", "Choose the column that holds the right answer."),
        ({"column": ""}, "prompts", "Choose the column that fills {question}, or take it away."),
        ({"role": "2nd"}, "prompts", "“2nd” cannot be a placeholder. Its name is of letters, digits and _, and begins with no digit."),
        (
            {"prompt_template": "Hello"},
            "prompt_template",
            "The prompt does not name {question}. Write it where its text belongs, or take the column away.",
        ),
        ({"prompt_template": ""}, "prompt_template", "Write what the model is asked, with {placeholders} for what comes from the row."),
        (
            {"prompt_template": "{question} {other}"},
            "prompt_template",
            "The prompt names {other}, which no column fills. For a brace that is meant as one, write it twice.",
        ),
        ({"prompt_template": "{question} {answer}"}, "prompt_template", "The prompt names {answer}, which is never sent to a model."),
        ({"choices_in": "one"}, "choices", "Choose the column that holds the choices, or say that there are none."),
        ({"choices_in": "several", "choices_columns": ["notes"]}, "choices", "Choose 2 to 26 columns, one for each choice."),
    ],
)
def test_mapping_that_is_not_whole_is_told_at_its_field(
    changed: dict[str, Any], field: str, words: str, workspace: Workspace, member: User, sign_in: SignIn
) -> None:
    draft = begin(member, workspace, done=2, columns={"question": "country", "answer": "capital"}, prompt_template="Capital of {question}?")
    response = send(sign_in(member), draft, "mapping", **changed)
    assert (response.status_code, problems(response).get(field)) == (422, words)
    assert "mapping" not in state_of(draft)["done"]


def test_answer_pattern_is_checked_and_shown_at_work(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    rows = json_lines(*({"q": f"{n} and {n}?", "a": f"Count them.\n#### {2 * n}"} for n in range(5)))
    draft = begin(member, workspace, rows, file="sums.jsonl", done=2)
    client = sign_in(member)
    assert problems(send(client, draft, "mapping", answer_pattern="####"))["answer_pattern"].startswith("The answer pattern has no group.")
    context = client.get(path(draft, "mapping")).context
    send(client, draft, "mapping", answer_pattern=r"####\s*(.+)")
    context = client.get(path(draft, "mapping")).context
    assert (context["row"].cell, context["row"].answer) == ("Count them.\n#### 0", "0")


def test_mapping_that_would_send_the_answer_is_refused_there(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    draft = begin(member, workspace, LEAKING, file="reasons.jsonl", done=2)
    client = sign_in(member)
    response = send(
        client, draft, "mapping", role=["question", "hint"], column=["q", "why"], answer="a", prompt_template="{question} {hint}"
    )
    assert response.status_code == 422
    assert "4 of 4 rows would send the model their own answer." in problems(response)["prompts"]
    assert "leave_out_leaking_rows" not in problems(response)["prompts"]
    assert client.get(path(draft, "mapping")).context["row"].leaks
    same = send(client, draft, "mapping", role="question", column="a", answer="a", prompt_template="{question}")
    assert "it would be sent to the model" in problems(same)["prompts"]


def test_columns_are_added_and_taken_away_without_script(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    draft = begin(member, workspace, done=2, columns={"question": "country", "answer": "capital"})
    client = sign_in(member)
    added = send(client, draft, "mapping", do="add")
    assert (added.status_code, added.context["prompts"]) == (200, [("question", "country"), ("", "")])
    send(client, draft, "mapping", do="", role=["question", ""], column=["country", "notes"])
    assert state_of(draft)["columns"]["notes"] == "notes"
    send(client, draft, "mapping", do="remove-notes")
    assert "notes" not in state_of(draft)["columns"]


def test_choices_in_several_columns_and_an_id_of_several(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    rows = b"uid,pair,q,a0,a1,key\n1,x,Which?,left,right,A\n1,y,And now?,up,down,B\n"
    draft = begin(member, workspace, rows, file="pairs.csv", done=2)
    changed: dict[str, Any] = {
        "role": "question",
        "column": "q",
        "answer": "key",
        "choices_in": "several",
        "choices_columns": ["a1", "a0"],
        "ids": ["pair", "uid"],
    }
    response = send(sign_in(member), draft, "mapping", prompt_template="{question}\n{choices}", **changed)
    assert response.status_code == 302
    columns = state_of(draft)["columns"]
    assert (columns["choices"], columns["id"]) == (["a0", "a1"], ["uid", "pair"])


# ── Grading ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_bench_shows_what_is_read_of_an_answer(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    draft = begin(member, workspace, done=3, columns={"question": "country", "answer": "capital"}, prompt_template="{question}")
    client = sign_in(member)
    data = {
        "revision": draft.revision,
        "task": "exact_match",
        "exact-extract": "last_line",
        "exact-casefold": "on",
        "answer": "Well.\nlima",
        "row": "1",
    }
    response = client.post(path(draft, "grading"), data, headers={**HTMX, "HX-Target": "beside"})
    assert (response.context["trial"].outcome, response.context["trial"].extracted) == ("right", "lima")
    assert ('id="trial"' in response.content.decode(), "<html" in response.content.decode()) == (True, False)
    assert "lima" not in json.dumps(state_of(draft)["options"])


@pytest.mark.parametrize(
    ("changed", "field", "words"),
    [
        ({"task": "numeric"}, "task", None),
        ({"task": "regex_match", "pattern": "("}, "pattern", None),
        ({"task": "regex_match", "pattern": ""}, "pattern", None),
        ({"task": "json_field_match", "fields": ""}, "fields", "Name 1 to 50 different fields, such as address.city, separated by commas."),
        ({"task": "numeric", "abs_tol": "much"}, "abs_tol", "Write a number of at least 0, such as 0.01."),
        ({"max_output_tokens": "9999"}, "max_output_tokens", "Write a whole number from 1 to 4,096."),
        ({"max_output_tokens": "many"}, "max_output_tokens", "Write a whole number from 1 to 4,096."),
    ],
)
def test_options_that_do_not_work_are_told_at_their_field(
    changed: dict[str, Any], field: str, words: str | None, workspace: Workspace, member: User, sign_in: SignIn
) -> None:
    draft = begin(member, workspace, done=3, columns={"question": "country", "answer": "capital"}, prompt_template="{question}")
    response = send(sign_in(member), draft, "grading", **changed)
    if field == "task":  # any grader may be chosen here; whether its answers fit is what the check of the rows says
        assert response.status_code == 302
        return
    found = problems(response)
    assert (response.status_code, list(found)) == (422, [field])
    assert words is None or found[field] == words


def test_grading_is_kept_with_every_option(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    draft = begin(member, workspace, done=3, columns={"question": "country", "answer": "capital"}, prompt_template="{question}")
    changed = {
        "task": "numeric",
        "numeric-extract": "first_number",
        "abs_tol": "0.5",
        "system_prompt": "Be brief.",
        "max_output_tokens": "64",
        "split": "dev",
    }
    response = send(sign_in(member), draft, "grading", **changed)
    state = state_of(draft)
    assert (response.status_code, state["task"], state["options"]["numeric"]["abs_tol"]) == (302, "numeric", 0.5)
    assert (state["system_prompt"], state["max_output_tokens"], state["split"]) == ("Be brief.", 64, "dev")


def test_rows_with_choices_are_graded_as_choices(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    draft = begin(member, workspace, QUIZ, file="quiz.jsonl", done=3)
    context = sign_in(member).get(path(draft, "grading")).context
    assert (context["is_choice"], context["options"]["multiple_choice"]) == (True, {"answer_format": "index", "index_base": 0})


# ── Rights ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("changed", "field", "words"),
    [
        ({"attested": None}, "attested", "Confirm this before the rows are read. Without these rights the data cannot be used here."),
        ({"name": " "}, "name", "Give the benchmark a name."),
        ({"license": "other", "license_other": "my own terms"}, "license", "Write the licence’s identifier"),
    ],
)
def test_rights_that_are_not_whole_are_told(
    changed: dict[str, Any], field: str, words: str, workspace: Workspace, member: User, sign_in: SignIn
) -> None:
    draft = begin(member, workspace, done=4, columns={"question": "country", "answer": "capital"}, prompt_template="{question}")
    response = send(sign_in(member), draft, "rights", **{"attested": "on", **changed})
    assert (response.status_code, list(problems(response))) == (422, [field])
    assert problems(response)[field].startswith(words.replace("’", "'") if "’" in words else words)


def test_rights_are_confirmed_with_the_whole_statement_before_them(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    draft = begin(member, workspace, done=4, columns={"question": "country", "answer": "capital"}, prompt_template="{question}")
    client = sign_in(member)
    assert "may send its rows to the providers of the models it runs" in client.get(path(draft, "rights")).content.decode()
    response = send(client, draft, "rights", attested="on", license="named", license_named="CC-BY-4.0")
    assert (response["Location"], state_of(draft)["data_license"]) == (path(draft, "check"), "CC-BY-4.0")
