"""What a model receives for a row."""

import pytest

from catalog.rendering import check_template, parse_template, prompt_bytes, render_messages
from common.errors import Refused


def code_of(template: str, roles: list[str], *, has_choices: bool = False) -> str:
    with pytest.raises(Refused) as refused:
        check_template(template, roles, has_choices=has_choices)
    return refused.value.code


def test_roles_and_choices_are_filled_in_with_lettered_lines() -> None:
    manifest = {"prompt_template": "{question}\n{choices}\nAnswer {{A}}:", "system_prompt": None}
    values = {"question": "Which?", "choices": ["red", "blue"]}
    assert render_messages(manifest, values) == [{"role": "user", "content": "Which?\nA. red\nB. blue\nAnswer {A}:"}]


def test_a_system_prompt_comes_first_and_verbatim() -> None:
    manifest = {"prompt_template": "{n}", "system_prompt": "Only {digits}."}
    assert render_messages(manifest, {"n": 7}) == [{"role": "system", "content": "Only {digits}."}, {"role": "user", "content": "7"}]


@pytest.mark.parametrize("text", ["{{name}}", "{% if x %}", "{# note #}", "{question}", "}", "{answer}", "%s {0}"])
def test_text_of_a_row_is_never_a_template(text: str) -> None:
    assert render_messages({"prompt_template": "Q: {question}!"}, {"question": text})[0]["content"] == f"Q: {text}!"


def test_prompt_bytes_are_utf8_bytes_of_all_messages() -> None:
    assert prompt_bytes([{"role": "system", "content": "é"}, {"role": "user", "content": "日本"}]) == 8


def test_doubled_braces_are_literal_also_around_a_role() -> None:
    assert parse_template("{{{a}}}") == (("{", "a"), ("}", ""))


def test_templates_that_do_not_fit_are_refused_with_their_code() -> None:
    assert code_of("", ["q"]) == "invalid_template"
    assert code_of("{q} {", ["q"]) == "invalid_template"
    assert code_of("{q} {0}", ["q"]) == "invalid_template"
    assert code_of("{q} {hint}", ["q"]) == "unknown_placeholder"
    assert code_of("{q} {choices}", ["q"]) == "unknown_placeholder"
    assert code_of("{q}", ["q", "hint"]) == "missing_placeholder"
    assert code_of("{q}", ["q"], has_choices=True) == "missing_placeholder"
    assert [code_of(f"{{q}} {{{role}}}", ["q", role]) for role in ("answer", "id", "group", "cluster")] == ["forbidden_placeholder"] * 4


def test_a_fitting_template_passes() -> None:
    check_template("{q} {hint} {q}\n{choices}", ["q", "hint"], has_choices=True)
