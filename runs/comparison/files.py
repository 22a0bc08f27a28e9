"""A table of a comparison as a CSV file."""

import csv
import io
from typing import Any

from django.http import HttpResponse

from common.spreadsheets import plain_cell
from runs.comparison.tables import Comparison, Table


def csv_of(table: Table) -> str:
    """A head of the columns' keys and one line a row. Shares are from 0 to 1, amounts micro-USD; no cell is a formula."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(column.key for column in table.columns)
    writer.writerows([_cell(row[column.key]) for column in table.columns] for row in table.rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    return ("true" if value else "false") if isinstance(value, bool) else plain_cell(value)


def csv_response(found: Comparison, table: str) -> HttpResponse:
    """The table as a file with a name that says what it is."""
    response = HttpResponse(csv_of(found.tables[table]), content_type="text/csv; charset=utf-8")
    name = f"{found.profile_id.replace('@', '-')}-{table}-{found.document['run_id'][:8]}.csv"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
