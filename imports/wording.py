"""Refusals in the words of the wizard: what programs call by the manifest's keys, people know by the fields of a form."""

import re

_NAMES = {
    "answer_pattern": "the answer pattern",
    "prompt_template": "the prompt",
    "system_prompt": "the system prompt",
    "max_output_tokens": "the longest answer",
    "rights_attestation": "the confirmation of rights",
    "data_license": "the licence",
    "grader_options": "the options",
    "index_base": "the first index",
    "answer_format": "the form of the answer",
    "multiple_choice": "multiple choice",
    "exact_match": "exact match",
    "regex_match": "regular expression",
    "json_field_match": "JSON fields",
    "abs_tol": "the absolute tolerance",
    "rel_tol": "the relative tolerance",
}
_WHOLE = {
    ' If that is wrong, set "encoding".': " If that is wrong, choose another encoding.",
    'or set "encoding" to what it is in': "or choose the encoding it is in",
    'Rename it, or set "format" to jsonl, csv or parquet': "Rename it, or say what it is below",
    'Rename it to .parquet, or set "format" to parquet': "Say below that it is Parquet",
    "set index_base to 1": "say that counting begins at 1",
    "or leave such rows out with leave_out_leaking_rows": "or leave such rows out",
    "Set another encoding": "Choose another encoding",
}
_NAME = re.compile(r"\b(" + "|".join(_NAMES) + r")\b")


def in_words(message: str) -> str:
    """The message with the keys of a manifest said as the form says them, and a capital at its beginning."""
    for written, said in _WHOLE.items():
        message = message.replace(written, said)
    message = _NAME.sub(lambda match: _NAMES[match[1]], message)
    return message[:1].upper() + message[1:]
