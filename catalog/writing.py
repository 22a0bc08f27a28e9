"""Writing many rows at once. A version's rows are prepared before the transaction that writes them, which then only inserts.

On SQLite a transaction that writes holds off every other writer, so what takes time (mapping, rendering, JSON) is done before it. The rows
wait in a temporary file, so memory does not grow with them.
"""

import json
import pickle
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from tempfile import SpooledTemporaryFile
from types import TracebackType
from typing import Any, Self

from django.db import connection

from catalog.manifests import TaskRow, TasksDigest
from catalog.models import BenchmarkVersion, Task, TaskContent
from catalog.rendering import prompt_bytes, render_messages
from common.errors import Refused

BATCH = 500
_IN_MEMORY = 8 * 1024 * 1024
_TASK = ("version_id", "ordinal", "task_id", '"group"', "cluster", "prompt_bytes", "message_count", "metadata")
_CONTENT = ("task_id", '"values"', "reference")


class PreparedRows:
    """Rows as they will be written, and what their version notes of them. Close it when they are written; it is a context manager."""

    def __init__(self, manifest: Mapping[str, Any], rows: Iterable[TaskRow]) -> None:
        """Take the rows from the stream. Raises Refused `no_rows`, `duplicate_task_id`, and whatever the stream raises."""
        self.longest_prompt_bytes = 0
        self.has_groups = self.has_clusters = False
        self._digest = TasksDigest()
        self._file = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115  (it lives as long as this)
        try:
            self._take(manifest, rows)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()

    @property
    def count(self) -> int:
        return self._digest.count

    def document(self) -> dict[str, Any]:
        """The manifest's `tasks`."""
        return self._digest.document()

    def _take(self, manifest: Mapping[str, Any], rows: Iterable[TaskRow]) -> None:
        seen: set[str] = set()
        stream = iter(rows)
        while batch := list(islice(stream, BATCH)):
            pickle.dump([self._prepared(manifest, row, seen) for row in batch], self._file, pickle.HIGHEST_PROTOCOL)
        if not self.count:
            raise Refused("no_rows", "There are no rows.")

    def _prepared(self, manifest: Mapping[str, Any], row: TaskRow, seen: set[str]) -> tuple[Any, ...]:
        if row.task_id in seen:
            raise Refused("duplicate_task_id", f"The ID {row.task_id!r} occurs twice.", details={"task_id": row.task_id})
        seen.add(row.task_id)
        ordinal = self._digest.count
        self._digest.add(row)
        messages = render_messages(manifest, row.values)
        size = prompt_bytes(messages)
        self.longest_prompt_bytes = max(self.longest_prompt_bytes, size)
        self.has_groups = self.has_groups or bool(row.group)
        self.has_clusters = self.has_clusters or bool(row.cluster)
        task = (ordinal, row.task_id, row.group, row.cluster, size, len(messages), json.dumps(row.metadata))
        return task, (json.dumps(row.values), json.dumps(row.reference))

    def _batches(self) -> Iterator[list[tuple[Any, ...]]]:
        self._file.seek(0)
        while True:
            try:
                yield pickle.load(self._file)  # noqa: S301  (written above, into a file without a name)
            except EOFError:
                return

    def write(self, version: BenchmarkVersion) -> None:
        """Insert the rows as the tasks of the version, in the transaction of the caller."""
        with connection.cursor() as cursor:
            for batch in self._batches():
                # Plain SQL: building two model instances a row, and compiling them, takes five times as long as the insert itself.
                tasks = [value for task, _ in batch for value in (version.pk, *task)]
                cursor.execute(f"{_insert(Task, _TASK, len(batch))} RETURNING ordinal, id", tasks)
                keys = dict(cursor.fetchall())
                contents = [value for task, content in batch for value in (keys[task[0]], *content)]
                cursor.execute(_insert(TaskContent, _CONTENT, len(batch)), contents)


def _insert(model: type[Task] | type[TaskContent], columns: tuple[str, ...], rows: int) -> str:
    one = f"({', '.join(['%s'] * len(columns))})"
    return f"INSERT INTO {model._meta.db_table} ({', '.join(columns)}) VALUES {', '.join([one] * rows)}"  # noqa: S608  (names of ours)
