"""A group as a file: `json` with everything that was frozen, `csv` with one line a result. Both hold aggregates alone."""

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

from django.http import HttpResponse

from common.encoding import encode_json
from common.errors import Refused
from common.spreadsheets import plain_cell
from runs.groups.documents import group_document, saved_row, started_row
from runs.models import Run
from runs.models.groups import ResultGroup

FORMATS = ("json", "csv")
COLUMNS = (
    "rank",
    "baseline",
    "label",
    "run_id",
    "version",
    "sha256",
    "subject_index",
    "profile_id",
    "score",
    "score_low",
    "score_high",
    "graded",
    "planned",
    "coverage",
    "errors",
    "charge_microusd",
    "difference_to_baseline",
    "difference_low",
    "difference_high",
    "p_holm",
    "unlike",
    "checks",
    "state",
)


def export_response(group: ResultGroup | Run, wanted: str) -> HttpResponse:
    """The file in one of FORMATS. Raises Refused `format_unsupported`."""
    if wanted not in FORMATS:
        raise Refused(
            "format_unsupported",
            f"There is no export of a group as {wanted!r}; there are {', '.join(FORMATS)}.",
            details={"supported": list(FORMATS)},
        )
    name = f"evalrouter-group-{group.public_id}.{wanted}"
    if wanted == "csv":
        response = HttpResponse(_csv(group_document(group)), content_type="text/csv; charset=utf-8")
    else:
        response = HttpResponse(encode_json(json_document(group)), content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def json_document(group: ResultGroup | Run) -> dict[str, Any]:
    """What was frozen as it was frozen, so that its hash can be checked, beside what names the group. A run's own group has no hash."""
    if isinstance(group, Run):
        return {"schema": "evalrouter.group.v1", "group": started_row(group), "sha256": None, "frozen": group_document(group)}
    return {"schema": "evalrouter.group.v1", "group": saved_row(group), "sha256": group.sha256, "frozen": group.frozen}


def _csv(document: Mapping[str, Any]) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for row in _rows(document):
        writer.writerow([_cell(row[column]) for column in COLUMNS])
    return text.getvalue()


def _rows(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    against = {row["member"]: row for row in document["against_baseline"]}
    unlike = {row["member"]: " ".join(each["code"] for each in row["differences"]) for row in document["unlike"]}
    for member in document["members"]:
        headline, counts, place = member["headline"] or {}, member["counts"] or {}, member["index"]
        interval, row = headline.get("interval") or {}, against.get(place, {})
        spread = row.get("interval") or {}
        checks = [f"{check['check']}={check['outcome']}" for check in document["checks"] if check["member"] == place]
        yield {
            **{column: member.get(column) for column in COLUMNS},
            "rank": member["rank_label"],
            "baseline": place == document["baseline"],
            "score": headline.get("value"),
            "score_low": interval.get("low"),
            "score_high": interval.get("high"),
            "graded": counts.get("graded"),
            "planned": counts.get("planned"),
            "errors": counts.get("errors"),
            "difference_to_baseline": row.get("difference"),
            "difference_low": spread.get("low"),
            "difference_high": spread.get("high"),
            "p_holm": row.get("p_holm"),
            "unlike": unlike.get(place),
            "checks": " ".join(checks),
        }


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return plain_cell(value)
