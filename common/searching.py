"""Looking for words in columns, whatever their script: SQLite ignores the case of ASCII letters only, and keeps JSON with escapes."""

import json

from django.db.models import Q


def holds(word: str, *columns: str, json_columns: tuple[str, ...] = ()) -> Q:
    """Whether some column holds the word in any case; `json_columns` are aliases of JSON cast to text.

    A word of ASCII is asked for once. Others are asked for as typed, in small and in capital letters, and with a capital first: what is
    written in yet another mix of cases is found on PostgreSQL alone.
    """
    spellings = {word} if word.isascii() else {word, word.lower(), word.upper(), word.capitalize()}
    found = Q()
    for spelling in sorted(spellings):
        for column in (*columns, *json_columns):
            found |= Q(**{f"{column}__icontains": spelling})
        escaped = json.dumps(spelling)[1:-1]
        if escaped != spelling:
            for column in json_columns:
                found |= Q(**{f"{column}__icontains": escaped})
    return found
